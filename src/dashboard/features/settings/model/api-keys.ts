import { many, time, type View } from '../../../words/format.ts';

/** API keys: how many are active, and which of them seem to be unused. */

export interface KeyNow {
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
}

const DAY = 86_400_000;
/** A key that was not used for so long is worth a question. */
const UNUSED_MS = 90 * DAY;

/** Milliseconds since the last use; of a key that was never used, since it was made. */
function unusedFor({ createdAt, lastUsedAt }: KeyNow, now: number): number {
  return now - Date.parse(lastUsedAt ?? createdAt);
}

export const isUnused = (key: KeyNow, now: number) => unusedFor(key, now) > UNUSED_MS;

/** "4 active keys. One has not been used for 5 months." */
export function headOfKeys(keys: readonly KeyNow[], now: number): string {
  const valid = keys.filter(({ revokedAt }) => revokedAt === null);
  const unused = valid.filter((key) => isUnused(key, now));
  const first = valid.length === 0 ? 'No active key.' : `${many(valid.length, 'active key')}.`;
  const [only] = unused;
  if (only === undefined) return first;
  if (unused.length === 1) return `${first} One has not been used for ${months(unusedFor(only, now))}.`;
  return `${first} ${unused.length} have not been used for 3 months.`;
}

const months = (ms: number) => many(Math.floor(ms / (30 * DAY)), 'month');

export const keyText = ({ prefix, lastFour }: { prefix: string; lastFour: string }) => `${prefix}…${lastFour}`;

/** For the dialog: what breaks when the key is revoked. */
export function revokeLead(key: KeyNow, isMine: boolean, view: View): string {
  const used =
    key.lastUsedAt === null
      ? 'It was never used.'
      : `It was last used at ${time(Date.parse(key.lastUsedAt), view)}; what uses it is refused within a second.`;
  return isMine ? `${used} It is the key of this session: you will be signed out.` : used;
}
