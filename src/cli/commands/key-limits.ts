import { KEY_SCOPES, type KeyRights, type KeyScope, rightsOf } from '../../domain/key-rights.ts';
import { UsageError } from './command.ts';

/** Options of a new API key, as they were written. */
interface KeyLimits {
  scopes: string | undefined;
  queues: string | undefined;
  expires: string | undefined;
}

/** Returns the limits of a new key; null for none. @throws UsageError, JobferryError `invalid_fields` */
export function requestedRights({ scopes, queues, expires }: KeyLimits, now: Date): KeyRights | null {
  return rightsOf({ scopes: scopesOf(scopes), queues: listOf(queues), expiresAt: endOf(expires, now) }, now);
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map((item) => item.trim());
}

function scopesOf(text: string | undefined): KeyScope[] | undefined {
  return listOf(text)?.map((item) => {
    const scope = KEY_SCOPES.find((known) => known === item);
    if (scope === undefined) throw new UsageError(`--scopes must be of ${KEY_SCOPES.join(', ')}`);
    return scope;
  });
}

const UNIT_MS: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z)?$/;

function endOf(text: string | undefined, now: Date): Date | undefined {
  if (text === undefined) return undefined;
  const [, count, unit = ''] = /^(\d{1,5})([dhm])$/.exec(text) ?? [];
  if (count !== undefined) return new Date(now.getTime() + Number(count) * (UNIT_MS[unit] ?? 0));
  if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text);
  throw new UsageError('--expires must be like 90d, 12h, 30m, 2027-01-31 or 2027-01-31T12:00:00Z');
}
