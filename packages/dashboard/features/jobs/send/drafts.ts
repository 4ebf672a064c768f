import { createStore } from '../../../base/store.ts';

/** The drafts and the sent jobs of this tab. They are not stored, as payloads may be confidential. */

const texts = new Map<string, string>();

export const EMPTY = '{}';

/** Returns undefined if nothing was typed for the queue. */
export function draftOf(queue: string): string | undefined {
  return texts.get(queue);
}

export function keepDraft(queue: string, text: string): void {
  texts.set(queue, text);
}

export interface Sent {
  id: string;
  queue: string;
}

/** Newest first. */
export const sentJobs = createStore<readonly Sent[]>([]);

/** The one that is shown in full, and ten before it. */
const MAX_SENT = 11;

export function rememberSent(sent: Sent): void {
  sentJobs.set([sent, ...sentJobs.get().filter(({ id }) => id !== sent.id)].slice(0, MAX_SENT));
}
