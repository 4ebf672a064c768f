import type { IncomingMessage } from 'node:http';
import type { RequestHandler, Response } from 'express';
import type { Account } from '../domain/account.ts';
import { isUnavailable, unavailable } from '../domain/errors.ts';
import { HttpRefusal } from './errors.ts';
import { belongsTo } from './open-connections.ts';
import type { RestServices } from './rest-services.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** Longer or stranger keys are never issued, so no query is made for them. */
const BEARER = /^Bearer ([\x21-\x7e]{1,300})$/i;

export const TOO_MUCH_UNREAD =
  'answers that your clients do not read take all room that your account has: read them first';

/** Runs before the body is read: a stranger costs no memory, and who does not read is given nothing more to read. */
export function authentication(services: Pick<RestServices, 'accounts'>, unread: UnreadAnswers): RequestHandler {
  return (req, res, next) => {
    const key = keyIn(req);
    if (key === undefined) {
      next(unauthorized());
      return;
    }
    services.accounts.authenticate(key).then(
      (account) => {
        // The client has gone meanwhile, and `close` of this answer with it: what is counted from here on would count for ever.
        if (res.destroyed) return;
        if (account === null) {
          next(unauthorized());
          return;
        }
        belongsTo(req.socket, account.id);
        if (!unread.hasRoom(account.id)) {
          next(new HttpRefusal(503, req.method === 'GET' ? TOO_MUCH_UNREAD : `${TOO_MUCH_UNREAD}; nothing was stored`));
          return;
        }
        res.locals.account = account;
        res.locals.knownAt = performance.now();
        next();
      },
      (error: unknown) => next(req.method === 'GET' ? error : nothingStored(error)),
    );
  };
}

/** Undefined when there is none in the right form. */
export function keyIn({ headers }: IncomingMessage): string | undefined {
  return BEARER.exec(headers.authorization ?? '')?.[1];
}

/** Without a key nothing was begun, whatever became of looking for it. */
function nothingStored(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return unavailable(`${error.message}; nothing was stored, try again`, 'nothing', error.cause);
}

/** One answer for every reason, so that nothing can be learned from it. */
export function unauthorized(): HttpRefusal {
  return new HttpRefusal(401, 'missing or invalid API key');
}

/** So long after it was looked up a key is looked up once more before the answer (I-45); most answers are faster. */
const KNOWN_FOR_MS = 100;

/**
 * Whether the key must be looked up again before the answer is sent: a request that had to wait may belong to a key that
 * was revoked meanwhile. Says so once.
 */
export function isToLookAgain(res: Response): boolean {
  const { knownAt } = res.locals as { knownAt?: number };
  if (knownAt === undefined || performance.now() - knownAt <= KNOWN_FOR_MS) return false;
  res.locals.knownAt = Number.POSITIVE_INFINITY;
  return true;
}

/** Of the caller; every route of the contract is authenticated. */
export function accountOf(res: Response): Account {
  return res.locals.account as Account;
}
