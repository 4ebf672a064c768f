import type { Express, Request, RequestHandler, Response } from 'express';
import { TooManySignIns } from '../../domain/session.ts';
import type { NewSession } from '../../services/sign-in/sessions.ts';
import { HttpRefusal } from '../errors.ts';
import { jsonBodyReader } from '../guards/body.ts';
import { clientAddress } from '../server/client-address.ts';
import { sessionCookie, sessionTokenIn, setCookie } from './cookies.ts';
import { FailedSignIns } from './failed-sign-ins.ts';
import { mountOidc } from './oidc.ts';
import { isFromOwnPage } from './public-address.ts';
import { type SignIn, setSession, userAgentOf } from './sign-in.ts';

const MAX_BODY_BYTES = 4096;
const INVALID_KEY = 'this API key is not valid';
const INVALID_LINK = 'this link was used before or has expired: a link works once, for ten minutes';

/** `session`: whether the browser is signed in, signing in with an API key or a link, and signing out. */
export function mountSignIn(app: Express, signIn: SignIn): void {
  const failed = new FailedSignIns();
  app.get('/session', (req, res, next) => {
    state(req, signIn).then((answer) => res.json(answer), next);
  });
  app.post('/session', fromOwnPage(signIn), onlyJson, jsonBodyReader(MAX_BODY_BYTES), (req, res, next) => {
    start(req, res, signIn, failed).catch(next);
  });
  app.delete('/session', fromOwnPage(signIn), (req, res, next) => {
    const token = sessionTokenIn(req, signIn.address);
    const ended = token === null ? Promise.resolve() : signIn.sessions.endOwn(token);
    ended.then(() => {
      res.setHeader('set-cookie', setCookie(sessionCookie(req, signIn.address), '', 0));
      res.status(204).end();
    }, next);
  });
  if (signIn.oidc !== null) mountOidc(app, signIn, signIn.oidc);
  app.all('/session', (_req, res, next) => {
    res.setHeader('allow', 'GET, POST, DELETE');
    next(new HttpRefusal(405, 'use GET, POST or DELETE'));
  });
}

async function state(req: Request, { sessions, address, takesKeys, oidc }: SignIn) {
  const token = sessionTokenIn(req, address);
  const signedIn = token !== null && (await sessions.find(token)) !== null;
  return { signedIn, methods: { apiKey: takesKeys, oidc: oidc === null ? null : { name: oidc.name } } };
}

/** Refuses requests from pages of other sites: they could sign a browser in to an account of their own, or out. */
function fromOwnPage({ address }: SignIn): RequestHandler {
  return (req, _res, next) => {
    if (isFromOwnPage(req, address)) next();
    else
      next(
        new HttpRefusal(
          403,
          'the address of this page is not that of the server. Set PUBLIC_URL to the address in the browser',
        ),
      );
  };
}

/** A request without a content type could come from a form. */
const onlyJson: RequestHandler = (req, _res, next) => {
  if (req.headers['content-type'] === undefined) next(new HttpRefusal(415, 'content-type must be application/json'));
  else next();
};

async function start(req: Request, res: Response, signIn: SignIn, failed: FailedSignIns): Promise<void> {
  if (!signIn.takesKeys) throw new HttpRefusal(403, 'sign in with your OpenID provider: OIDC_ONLY is set');
  const { apiKey, link } = textsIn(req.body);
  if ((apiKey === null) === (link === null)) {
    throw new HttpRefusal(400, 'the body must have either apiKey or link, as a string');
  }
  // The bound is against guessing. Who sends a secret in Jobferry's form does not guess, and must not be locked out by
  // others who share an address, as behind a proxy.
  const isGuessable = !/^jfl?_/.test(apiKey ?? link ?? '');
  const client = clientAddress(req, signIn.trustedProxies);
  const waitSeconds = isGuessable ? failed.begin(client) : 0;
  if (waitSeconds > 0) {
    res.setHeader('retry-after', String(waitSeconds));
    throw new HttpRefusal(429, `too many failed sign-ins: try again in ${waitSeconds} s`);
  }
  const session = await (apiKey === null ? ofLink(link ?? '', req, signIn) : ofKey(apiKey, req, signIn))
    // An error says nothing about the key or the link.
    .finally(() => isGuessable && failed.end(client))
    .catch((error: unknown) => {
      if (!(error instanceof TooManySignIns)) throw error;
      res.setHeader('retry-after', '60');
      throw new HttpRefusal(429, error.message);
    });
  if (session === null) {
    if (isGuessable) failed.add(client);
    throw new HttpRefusal(401, apiKey === null ? INVALID_LINK : INVALID_KEY);
  }
  await setSession(req, res, signIn, session);
  res.status(204).end();
}

function textsIn(body: unknown): { apiKey: string | null; link: string | null } {
  const { apiKey, link } = (body ?? {}) as { apiKey?: unknown; link?: unknown };
  return { apiKey: typeof apiKey === 'string' ? apiKey : null, link: typeof link === 'string' ? link : null };
}

async function ofKey(apiKey: string, req: Request, { accounts, sessions }: SignIn): Promise<NewSession | null> {
  const account = await accounts.authenticate(apiKey);
  // A session has the rights of a role, and a key with limits has none.
  if (account?.rights != null) throw new HttpRefusal(403, 'an API key with limits cannot sign in to the dashboard');
  return account === null ? null : sessions.startOfKey(account, userAgentOf(req));
}

function ofLink(link: string, req: Request, { sessions }: SignIn): Promise<NewSession | null> {
  return sessions.startOfLink(link, userAgentOf(req));
}
