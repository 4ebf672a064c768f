import { isMisspelt } from '../../../src/domain/spelling.ts';

/**
 * The search of queues: `tag:mail` finds by tags, `receiver:api.example.com` by the host they deliver to, every other
 * text is a part of the name or of the address. `is:stuck` has the queues in a condition: the page selects them, as it
 * alone knows conditions.
 */
interface QueueSearch {
  search: string | null;
  /** At least one of them; null if none is wanted. */
  tags: string[] | null;
  /** One of these hosts; null if none is wanted. */
  receivers: string[] | null;
}

export function queueSearchOf(text: string): QueueSearch {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const rest = words.filter((word) => !/^(tag|receiver|is):/i.test(word)).join(' ');
  return { search: rest === '' ? null : rest, tags: valuesOf('tag:', words), receivers: valuesOf('receiver:', words) };
}

function valuesOf(mark: string, words: readonly string[]): string[] | null {
  const own = words
    .map((word) => word.toLowerCase())
    .filter((word) => word.startsWith(mark) && word.length > mark.length);
  if (own.length === 0) return null;
  return own.flatMap((word) => word.slice(mark.length).split(',')).filter((value) => value !== '');
}

export const receiverWord = (host: string) => `receiver:${host}`;

/** The host that is being typed after `receiver:`, for which hosts are offered; null if none is. */
export function typedReceiver(text: string): string | null {
  return text.match(/(?:^|\s)receiver:(?:\S*,)?([^\s,]*)$/i)?.[1]?.toLowerCase() ?? null;
}

/** Shorter words are too near to words that mean something else, such as `list` and `lost`. */
export const LEAST_MISSPELT = 5;

/** The queues whose name a search misspells, each with the search. */
export function meantQueues<Queue extends { name: string }>(search: string, queues: readonly Queue[] = []) {
  const meantBy = search.toLowerCase();
  return queues.filter(({ name }) => isMisspelt(meantBy, name)).map((queue) => ({ ...queue, meantBy }));
}

/** Words of people for conditions of queues, and conditions themselves. */
const IN_WORDS = new Map(['failing', 'held', 'paused', 'slow', 'behind', 'idle', 'moving'].map((word) => [word, word]))
  // Jobs stand still in all of these.
  .set('stuck', 'stuck,awaiting,paused')
  .set('broken', 'failing,breaker,signature')
  .set('errors', 'failing,breaker,signature')
  .set('late', 'behind,catching-up,stuck')
  .set('blocked', 'paused,held,probing,breaker');

/** The searches for a word of people, each with the word: of `stuck`, `is:stuck`. */
export function conditionsInWords(text = ''): (readonly [search: string, word: string])[] {
  return [...IN_WORDS]
    .filter(([word]) => word.startsWith(text.toLowerCase()))
    .map(([word, conditions]) => [`is:${conditions}`, word]);
}

/** The conditions that a search wants, one of them; null if it wants none. */
export const conditionsOf = (text: string) =>
  valuesOf('is:', text.split(/\s+/))?.flatMap((word) => (IN_WORDS.get(word) ?? word).split(',')) ?? null;
