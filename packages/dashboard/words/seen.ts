/** A process writes that it lives every few seconds; after so long without it, it is taken for gone. */
export const SEEN_MS = 30_000;

export const isSeen = ({ lastSeenAt }: { lastSeenAt: string }, now: number) => now - Date.parse(lastSeenAt) < SEEN_MS;
