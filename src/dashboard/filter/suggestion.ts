import { mayFilterBy, type Rights } from '../words/rights.ts';

/** An offer of a filter box for the text in it. */
export interface Suggestion<Chip> {
  id: string;
  group: string;
  /** The part of the label that is already typed is marked by the box. */
  label: string;
  hint: string;
  isCode: boolean;
  /** Enter adds a chip, continues the text, or opens a job. */
  does: { chip: Chip } | { text: string } | { job: string };
}

/** Whether the person may use the condition that is offered. */
export function isOffered({ does }: Suggestion<{ word: string }>, rights: Rights | null): boolean {
  return 'job' in does || mayFilterBy(rights, 'text' in does ? does.text : does.chip.word);
}

/** The text that Tab puts into the box; null if there is none. */
export function completionOf<Chip>(offer: Suggestion<Chip> | undefined, format: (chip: Chip) => string): string | null {
  if (offer === undefined || 'job' in offer.does) return null;
  return 'text' in offer.does ? offer.does.text : format(offer.does.chip);
}
