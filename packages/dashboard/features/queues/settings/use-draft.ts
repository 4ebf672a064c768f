import { useState } from 'preact/compat';
import type { Edits, FieldName } from '../model/queue-settings.ts';

/**
 * The typed text, by queue. It outlives the page, so that the back button loses nothing; closing the tab forgets it.
 */
const drafts = new Map<string, Edits>();

export function useDraft(queueId: string) {
  const [edits, setEdits] = useState<Edits>(drafts.get(queueId) ?? {});
  const set = (next: Edits) => {
    if (Object.keys(next).length === 0) drafts.delete(queueId);
    else drafts.set(queueId, next);
    setEdits(next);
  };
  return {
    edits,
    edit: (name: FieldName, text: string) => set({ ...edits, [name]: text }),
    /** Forgets what was saved. What was typed while it was being saved stays. */
    saved: (sent: Edits) => {
      const present = Object.entries(drafts.get(queueId) ?? {}) as [FieldName, string][];
      set(Object.fromEntries(present.filter(([name, text]) => sent[name] !== text)));
    },
    reset: () => set({}),
  };
}
