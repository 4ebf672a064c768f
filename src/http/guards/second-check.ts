import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Account } from '../../domain/account.ts';
import { decideAfter } from '../../pacing/decide-after.ts';
import { localsOf } from '../locals.ts';
import type { RestServices } from '../routes/rest-services.ts';
import { keyIn } from './authentication.ts';

/**
 * The second check of a key or session, before an answer that took long is sent: no answer may reach a key later than a
 * second after its revocation (I-45). The first check counts from its query, whose result may be 900 ms old.
 */

/** If the answer takes longer than this, the key is checked again. Most answers are faster. */
const KNOWN_FOR_MS = 100;
/** Time limit of the check before the answer of a read. A result that comes later may be too old. */
const READ_MS = 900;
/** The answer of a write is sent without the check then: what it says has been done. */
const WRITE_MS = 500;

/** Whether a key or session is still in force; `unknown` if the database did not answer in time. */
export type Standing = 'valid' | 'ended' | 'unknown';

/** Whether the answer must be checked. Returns true at most once per request. */
export function needsSecondCheck(res: ServerResponse): boolean {
  const locals = localsOf(res);
  const { knownAt } = locals;
  if (knownAt === undefined || performance.now() - knownAt <= KNOWN_FOR_MS) return false;
  locals.knownAt = Number.POSITIVE_INFINITY;
  return true;
}

/** @param holder looks up the holder of the key or session; null if it is no longer in force */
export function secondCheck(holder: Promise<object | null>, of: 'read' | 'write'): Promise<Standing> {
  return new Promise((resolve) => {
    const withdraw = decideAfter(of === 'read' ? READ_MS : WRITE_MS, () => resolve('unknown'));
    holder
      .then(
        (found) => resolve(found === null ? 'ended' : 'valid'),
        () => resolve('unknown'),
      )
      .finally(withdraw);
  });
}

/** Returns the account of a request's key; null if the key is no longer in force. */
export function holderOfKey(
  { accounts }: Pick<RestServices, 'accounts'>,
  req: IncomingMessage,
): Promise<Account | null> {
  return accounts.authenticate(keyIn(req) ?? '');
}
