import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { FULL_ACCESS } from '../../domain/access.ts';
import type { Account } from '../../domain/account.ts';
import { isUnavailable, unavailable } from '../../domain/errors.ts';
import { accessOfKey } from '../../domain/key-rights.ts';
import type { SignedIn } from '../../domain/session.ts';
import { HttpRefusal } from '../errors.ts';
import { type Answer, addWait } from '../locals.ts';
import type { RestServices } from '../routes/rest-services.ts';
import { noteAccount } from '../server/open-connections.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** Jobferry issues no keys of another form, so no query is made for them. */
const BEARER = /^Bearer ([\x21-\x7e]{1,300})$/i;

export const TOO_MUCH_UNREAD =
  'your clients have left too many answers unread: read those answers before you send more requests';

/**
 * Runs before the body is read, so that requests without a valid key or with too many unread answers cost no memory.
 */
export function authentication(services: Pick<RestServices, 'accounts'>, unread: UnreadAnswers): RequestHandler {
  return (req, res, next) => {
    const key = keyIn(req);
    if (key === undefined) {
      next(unauthorized());
      return;
    }
    const since = performance.now();
    services.accounts.authenticate(key).then(
      (account) => {
        addWait(res, since);
        if (account === null) {
          next(unauthorized());
          return;
        }
        res.locals.knownAt = since;
        admit(req, res, next, account, unread);
      },
      (error: unknown) => next(req.method === 'GET' ? error : nothingStored(error)),
    );
  };
}

/** Lets a request of a known account proceed, unless the account has too many unread answers. */
export function admit(req: Request, res: Response, next: NextFunction, account: Account, unread: UnreadAnswers): void {
  // The client has disconnected, and `close` was emitted: anything counted from here on would never be uncounted.
  if (res.destroyed) return;
  noteAccount(req.socket, account.id);
  if (!unread.hasRoom(account.id)) {
    next(new HttpRefusal(503, req.method === 'GET' ? TOO_MUCH_UNREAD : `${TOO_MUCH_UNREAD}; nothing was stored`));
    return;
  }
  res.locals.account = account;
  next();
}

/** Returns the API key of a request; undefined if there is none in the right form. */
export function keyIn({ headers }: IncomingMessage): string | undefined {
  return BEARER.exec(headers.authorization ?? '')?.[1];
}

/** The key was not checked, so no work has begun, even if the outcome of the key's query is unknown. */
function nothingStored(error: unknown): unknown {
  if (!isUnavailable(error)) return error;
  return unavailable(`${error.message}; nothing was stored, try again`, 'nothing', error.cause);
}

/** One answer for every reason, so that it reveals nothing. */
export function unauthorized(): HttpRefusal {
  return new HttpRefusal(401, 'missing or invalid API key');
}

/** Returns the client's account; every route of the contract is authenticated. */
export function accountOf(res: Answer): Account {
  return res.locals.account as Account;
}

/** Returns the client: the one of a session, or that of an API key, which may do everything unless it has limits. */
export function clientOf(res: Answer): SignedIn {
  const { signedIn } = res.locals;
  if (signedIn !== undefined) return signedIn;
  const account = accountOf(res);
  const access = account.rights == null ? FULL_ACCESS : accessOfKey(account.rights);
  return { account, access, person: null, session: null };
}
