import type { QueueCreateInput, QueueUpdateInput } from '../client/models.ts';
import { differences } from '../client/verbs/queues.ts';

/** A file that cannot be applied. The message has a line for each mistake, with its place. */
export class QueuesFileError extends Error {
  override readonly name = 'QueuesFileError';
}

/** A queue as a file declares it. */
export interface DeclaredQueue extends QueueCreateInput {
  /** Used when the queue is created: Jobferry shows no present secret, so it cannot be compared. */
  signingSecret?: string;
}

/** A queue that there is, with its settings under the names of the contract. */
export interface PresentQueue {
  readonly id: string;
  readonly name: string;
}

/** Where queues are: behind the API for a command, in this process at the start of the service. */
export interface QueueStore {
  list(): Promise<readonly PresentQueue[]>;
  /** @returns the signing secret */
  create(queue: DeclaredQueue): Promise<string>;
  update(id: string, settings: QueueUpdateInput): Promise<unknown>;
}

/** The change that makes a queue as it is declared. */
export interface Change {
  queue: string;
  kind: 'create' | 'update' | 'none';
  /** The settings that differ, for an update. */
  settings: { name: string; from: unknown; to: unknown }[];
}

/** Compares declared queues with those that there are. Queues that are not declared are left alone. */
export function changesTo(present: readonly PresentQueue[], declared: readonly DeclaredQueue[]): Change[] {
  return declared.map((wanted) => {
    const queue = present.find(({ name }) => name === wanted.name);
    if (queue === undefined) return { queue: wanted.name, kind: 'create', settings: [] };
    const settings = Object.entries(differences(queue, settingsOf(wanted))).map(([name, to]) => ({
      ...{ name, from: (queue as unknown as Record<string, unknown>)[name], to },
    }));
    return { queue: wanted.name, kind: settings.length > 0 ? 'update' : 'none', settings };
  });
}

/** Makes one queue as it is declared. @returns its signing secret if it was created, null otherwise */
export async function applyTo(
  store: QueueStore,
  present: readonly PresentQueue[],
  wanted: DeclaredQueue,
): Promise<string | null> {
  const queue = present.find(({ name }) => name === wanted.name);
  if (queue === undefined) return store.create(wanted);
  const settings = differences(queue, settingsOf(wanted));
  if (Object.keys(settings).length > 0) await store.update(queue.id, settings);
  return null;
}

/** The others are for the creation only. */
function settingsOf({ template: _template, signingSecret: _secret, ...settings }: DeclaredQueue): QueueUpdateInput {
  return settings;
}
