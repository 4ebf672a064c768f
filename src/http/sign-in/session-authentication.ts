import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { HttpRefusal } from '../errors.ts';
import { admit } from '../guards/authentication.ts';
import { holderOfKey } from '../guards/second-check.ts';
import type { UnreadAnswers } from '../guards/unread-answers.ts';
import type { RestServices } from '../routes/rest-services.ts';
import { sessionTokenIn } from './cookies.ts';
import { isFromOwnPage } from './public-address.ts';
import type { SignIn } from './sign-in.ts';

/** Pages of other sites cannot add this header without permission, which this server gives to none. */
const OWN_HEADER = 'jobferry-dashboard';

/** Another scheme, such as Basic, is for a proxy in front of this server. The browser sends it with every request. */
function hasBearer({ headers }: IncomingMessage): boolean {
  return /^bearer(?:\s|$)/i.test(headers.authorization ?? '');
}

/** The session token of a request; null if the request has a key or no session. */
function tokenOf(req: IncomingMessage, address: SignIn['address']): string | null {
  return hasBearer(req) ? null : sessionTokenIn(req, address);
}

/**
 * Accepts the session of the dashboard besides API keys. The cookie counts only if the request is from a page of this
 * server, because browsers add cookies to requests from other pages, too.
 */
export function sessionAuthentication(
  { sessions, address }: Pick<SignIn, 'sessions' | 'address'>,
  unread: UnreadAnswers,
  byKey: RequestHandler,
): RequestHandler {
  return (req, res, next) => {
    const token = tokenOf(req, address);
    if (token === null) {
      byKey(req, res, next);
      return;
    }
    if (req.headers[OWN_HEADER] !== '1' || !isFromOwnPage(req, address)) {
      next(new HttpRefusal(401, `a session needs the header ${OWN_HEADER}: 1, and the Origin of this server`));
      return;
    }
    const since = performance.now();
    sessions.find(token).then((signedIn) => {
      if (signedIn === null) {
        next(new HttpRefusal(401, 'the session has ended: sign in'));
        return;
      }
      res.locals.signedIn = signedIn;
      res.locals.knownAt = since;
      admit(req, res, next, signedIn.account, unread);
    }, next);
  };
}

/** Returns a function that looks up the holder of a request's session or key; null if it is no longer in force. */
export function holderOf(
  services: Pick<RestServices, 'accounts'>,
  signIn: Pick<SignIn, 'sessions' | 'address'> | null,
): (req: IncomingMessage) => Promise<object | null> {
  return (req) => {
    const token = signIn === null ? null : tokenOf(req, signIn.address);
    return signIn === null || token === null ? holderOfKey(services, req) : signIn.sessions.find(token);
  };
}
