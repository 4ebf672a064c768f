import { invalidField } from './errors.ts';
import { isStorableText } from './text.ts';

/** Filters of the dashboard that are kept under a name, for all people of an account. */

export const SAVED_VIEW_PAGES = ['jobs', 'dead_letters'] as const;
export type SavedViewPage = (typeof SAVED_VIEW_PAGES)[number];

export const SAVED_VIEW_LIMITS = {
  /** The most views of an account, on all pages. */
  views: 100,
  nameLength: 64,
  queryLength: 2000,
} as const;

export interface NewSavedView {
  page: SavedViewPage;
  name: string;
  query: string;
}

/** @returns the view as it is stored @throws JobferryError `invalid_fields` */
export function newSavedView({ page, name, query }: NewSavedView): NewSavedView {
  const { nameLength, queryLength } = SAVED_VIEW_LIMITS;
  const trimmed = name.trim();
  if (trimmed === '' || trimmed.length > nameLength) {
    throw invalidField('name', `must have 1 to ${nameLength} characters`);
  }
  if (!isStorableText(trimmed) || /\p{Cc}/u.test(trimmed))
    throw invalidField('name', 'has a character that cannot be stored');
  if (query.length > queryLength) throw invalidField('query', `must have at most ${queryLength} characters`);
  // As browsers write it, so that it cannot lead to another page or end the address.
  if (!/^[!-~]*$/.test(query) || /[?#]/.test(query)) {
    throw invalidField('query', 'must be the query part of an address, without its question mark');
  }
  return { page, name: trimmed, query };
}

/** Words of the filters of both pages whose values are no parts of payloads, and no texts of receivers. */
const PLAIN_WORDS =
  /^(state|queue|code|ever|key|attempts|holds|reason|waits|action|created|completed|scheduled|died|cause|replayed):/;
const PLAIN_PARAMETERS: ReadonlySet<string> = new Set(['order', 'tab', 'dismissed', 'from', 'to']);

/**
 * Whether people without the right to see payloads may read the query. Only the dashboard parses filters. So this
 * function withholds a query with anything that is not known to be harmless, such as a quoted text with a space.
 */
export function isPlainView(query: string): boolean {
  return [...new URLSearchParams(query)].every(([name, value]) => {
    if (name !== 'q') return PLAIN_PARAMETERS.has(name);
    return value.split(/\s+/).every((term) => term === '' || PLAIN_WORDS.test(term));
  });
}
