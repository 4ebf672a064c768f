import type { RequestHandler, Response } from 'express';
import type { Account, Services } from '../services/index.ts';
import { HttpRefusal } from './errors.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** Longer or stranger keys are never issued, so no query is made for them. */
const BEARER = /^Bearer ([\x21-\x7e]{1,300})$/i;

export const TOO_MUCH_UNREAD =
  'answers that your clients do not read take all room that your account has: read them first';

/** Runs before the body is read: a stranger costs no memory, and who does not read is given nothing more to read. */
export function authentication(services: Services, unread: UnreadAnswers): RequestHandler {
  return (req, res, next) => {
    const key = BEARER.exec(req.headers.authorization ?? '')?.[1];
    if (key === undefined) {
      next(unauthorized());
      return;
    }
    services.authenticate(key).then((account) => {
      if (account === null) {
        next(unauthorized());
        return;
      }
      if (!unread.hasRoom(account.id)) {
        next(new HttpRefusal(503, TOO_MUCH_UNREAD));
        return;
      }
      res.locals.account = account;
      next();
    }, next);
  };
}

/** One answer for every reason, so that nothing can be learned from it. */
function unauthorized(): HttpRefusal {
  return new HttpRefusal(401, 'missing or invalid API key');
}

/** Of the caller; every route of the contract is authenticated. */
export function accountOf(res: Response): Account {
  return res.locals.account as Account;
}
