/**
 * The search of queues: `tag:mail` finds by tags, `receiver:api.example.com` by the host they deliver to, every other text is
 * a part of the name or of the address.
 */
export interface QueueSearch {
  search: string | null;
  /** At least one of them; null if none is wanted. */
  tags: string[] | null;
  /** One of these hosts; null if none is wanted. */
  receivers: string[] | null;
}

export function queueSearchOf(text: string): QueueSearch {
  const words = text.split(/\s+/).filter((word) => word !== '');
  const rest = words.filter((word) => !/^(tag|receiver):/i.test(word)).join(' ');
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
