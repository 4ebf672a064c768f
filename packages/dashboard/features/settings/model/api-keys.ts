import { many, time, type View } from '../../../../query/words/format.ts';

/** API keys: how many are active, and which of them seem to be unused. */

interface KeyNow {
  createdAt: string;
  lastUsedAt: string | null;
  revokedAt: string | null;
  expiresAt: string | null;
}

export const DAY_MS = 86_400_000;
/** A key that was not used for so long is worth a question. */
const UNUSED_MS = 90 * DAY_MS;
/** A key that ends so soon is worth a warning. */
const SOON_MS = 14 * DAY_MS;

/** Milliseconds since the last use; of a key that was never used, since it was created. */
function unusedFor({ createdAt, lastUsedAt }: KeyNow, now: number): number {
  return now - Date.parse(lastUsedAt ?? createdAt);
}

export const isUnused = (key: KeyNow, now: number) => unusedFor(key, now) > UNUSED_MS;

/** Neither revoked nor past its end. */
const isInForce = ({ revokedAt, expiresAt }: KeyNow, now: number) =>
  revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > now);

export const endsSoon = ({ expiresAt }: KeyNow, now: number) =>
  expiresAt !== null && Date.parse(expiresAt) - now < SOON_MS;

const RIGHTS: Readonly<Record<string, string>> = {
  PUBLISH: 'publish',
  READ: 'read',
  REPORT: 'report',
  MANAGE: 'manage',
  ADMIN: 'everything',
};

/** "publish, read · emails" */
export function mayText({ scopes, queues }: { scopes: readonly string[]; queues: readonly string[] | null }): string {
  const rights = scopes.map((scope) => RIGHTS[scope] ?? scope.toLowerCase()).join(', ');
  return queues === null ? rights : `${rights} · ${queues.join(', ')}`;
}

/** "4 active keys. One has not been used for 5 months." */
export function headOfKeys(keys: readonly KeyNow[], now: number): string {
  const valid = keys.filter((key) => isInForce(key, now));
  const unused = valid.filter((key) => isUnused(key, now));
  const first = valid.length === 0 ? 'No active keys.' : `${many(valid.length, 'active key')}.`;
  const [only] = unused;
  if (only === undefined) return first;
  if (unused.length === 1) return `${first} 1 has not been used for ${months(unusedFor(only, now))}.`;
  return `${first} ${unused.length} have not been used for 3 months.`;
}

const months = (ms: number) => many(Math.floor(ms / (30 * DAY_MS)), 'month');

export const keyText = ({ prefix, lastFour }: { prefix: string; lastFour: string }) => `${prefix}…${lastFour}`;

/** For the dialog: what breaks when the key is revoked. */
export function revokeLead(key: KeyNow, isMine: boolean, view: View): string {
  const used =
    key.lastUsedAt === null
      ? 'It was never used.'
      : `It was last used at ${time(Date.parse(key.lastUsedAt), view)}; programs that use it are refused within 1 second.`;
  return isMine ? `${used} It is the key of this session: you will be signed out.` : used;
}
