import type { LookupAddress } from 'node:dns';

/** `dns.lookup` as the address guard calls it, so that tests can put their own answers in its place. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

type LookupCallback = Parameters<Lookup>[2];

/**
 * Lets look-ups of one name that run at the same time share one question. `dns.lookup` runs on four
 * threads for the whole process: 500 slots of a queue whose name server is slow would otherwise keep
 * the names of all other queues waiting. Nothing is remembered once the answer is there, because
 * every connect has to judge a current answer (reliability.md section 5, S56).
 */
export function shareLookups(lookup: Lookup): Lookup {
  const waiting = new Map<string, LookupCallback[]>();
  return (hostname, options, callback) => {
    const others = waiting.get(hostname);
    if (others !== undefined) {
      others.push(callback);
      return;
    }
    const callbacks = [callback];
    waiting.set(hostname, callbacks);
    lookup(hostname, options, (error, addresses) => {
      waiting.delete(hostname);
      for (const answer of callbacks) answer(error, addresses);
    });
  };
}
