import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppRoute } from '@ts-rest/core';
import { createExpressEndpoints } from '@ts-rest/express';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { contract, ignoredIn, writeJson } from '../contract/index.ts';
import type { Account } from '../domain/account.ts';
import { accountOf, authentication, keyIn, needsSecondCheck, TOO_MUCH_UNREAD, unauthorized } from './authentication.ts';
import { bodyReader } from './body.ts';
import { withCors } from './cors.ts';
import { counted } from './counted.ts';
import { type Dashboard, mountDashboard } from './dashboard.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { mountDocumentation } from './docs.ts';
import { errorHandler, type Log, refuseInvalidRequest } from './errors.ts';
import { type GraphQLEndpoint, mountGraphQL } from './graphql.ts';
import { IGNORED, jobRoutes } from './jobs.ts';
import type { OpenApiOptions } from './openapi/index.ts';
import { mountPlaces, placesOf } from './pages.ts';
import { withoutPrefix } from './path-prefix.ts';
import { createPublishTurns } from './publish-turns.ts';
import { parseQuery } from './query.ts';
import { queueRoutes } from './queues.ts';
import { limiting, type RequestRates } from './request-limits.ts';
import type { RestServices } from './rest-services.ts';
import { keyRights } from './route-scopes.ts';
import { basePathOf } from './sign-in/public-address.ts';
import { mountSignIn } from './sign-in/routes.ts';
import { sessionAuthentication } from './sign-in/session-authentication.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import { unknownPath } from './unknown-path.ts';
import { LONG_ANSWER, UnreadAnswers } from './unread-answers.ts';

interface Readiness {
  ready: boolean;
  /** The result of each check by its name: `ok`, or what is wrong. */
  checks: Record<string, string>;
}

export interface AppOptions {
  /** Null for a process without the API, which serves only its health and its metrics. */
  services: RestServices | null;
  config: { maxBodyBytes: number; requestRates?: RequestRates; corsOrigins?: readonly string[] } & OpenApiOptions;
  log: Log;
  readiness: () => Promise<Readiness>;
  /** Null for a process without the API. */
  graphql?: GraphQLEndpoint | null;
  /** Null if people cannot sign in. */
  signIn?: SignIn | null;
  /** Null if the process does not serve the dashboard. */
  dashboard?: Dashboard | null;
  /** Serves `/metrics`; null if these are on another port. */
  metrics?: RequestListener | null;
  /** Called when a request that may have changed something has been answered. */
  onChange?: ((account: Account) => void) | undefined;
}

/** The whole HTTP surface. Every answer is JSON, also after errors (D22), except the pages for people. */
export function createApp(options: AppOptions): Express {
  const { services, config, log, readiness, graphql = null, signIn = null, dashboard = null, metrics = null } = options;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', parseQuery);
  const unread = new UnreadAnswers();
  app.response.json = sendJson(unread, services);

  app.use(commonHeaders(signIn?.address.url ?? null));
  const byKey = services === null ? null : authentication(services, unread);
  const limited = limiting(config.requestRates ?? { ofKey: null, ofAccount: null });
  if (services !== null && byKey !== null) {
    const { maxBodyBytes } = config;
    mountApi(app, { services, log, authenticated: limited(byKey), unread, maxBodyBytes, onChange: options.onChange });
    mountDocumentation(app, config);
  }
  app.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.get('/readyz', readyz(readiness));
  if (metrics !== null) app.get('/metrics', metrics);
  if (signIn !== null) mountSignIn(app, signIn);
  if (byKey !== null && graphql !== null) {
    const authenticated = signIn === null ? byKey : sessionAuthentication(signIn, unread, byKey);
    mountGraphQL(app, limited(authenticated), graphql, { maxBodyBytes: config.maxBodyBytes, unread });
  }
  if (dashboard !== null) mountDashboard(app, dashboard);
  const basePath = signIn === null ? '/' : basePathOf(signIn.address);
  mountPlaces(app, placesOf(options), basePath);
  const listener = app as unknown as { handle: RequestListener };
  const answer = withoutPrefix(basePath, withCors(config.corsOrigins ?? [], listener.handle.bind(app)));
  listener.handle = counted(answer);

  app.use((req, _res, next) => next(unknownPath(req)));
  app.use(errorHandler(log));
  return app;
}

interface ApiParts {
  services: RestServices;
  log: Log;
  authenticated: RequestHandler;
  unread: UnreadAnswers;
  maxBodyBytes: number;
  onChange: AppOptions['onChange'];
}

function mountApi(app: Express, { services, log, authenticated, unread, maxBodyBytes, onChange }: ApiParts): void {
  // A list may be a stream. One slice of it stays in memory until the client reads it.
  const watched: RequestHandler = (req, res, next) => {
    if (req.method === 'GET') unread.watch(res, accountOf(res).id);
    next();
  };
  const turns = createPublishTurns(services, maxBodyBytes);
  const listener = app as unknown as { handle: RequestListener };
  listener.handle = turns.before(listener.handle.bind(app));
  createExpressEndpoints(
    contract,
    { queues: queueRoutes(services), jobs: jobRoutes(services, log), deadLetters: deadLetterRoutes(services, log) },
    app,
    {
      logInitialization: false,
      responseValidation: true,
      globalMiddleware: [
        authenticated,
        keyRights(services),
        watched,
        ...(onChange === undefined ? [] : [noting(onChange)]),
        turns.admission,
        bodyReader(maxBodyBytes, turns.bodyRead),
        namingIgnored,
      ],
      requestValidationErrorHandler: refuseInvalidRequest,
    },
  );
}

/** The contract ignores unknown names (D24). The answer says which, so that a misspelling is noticed. */
const namingIgnored: RequestHandler = (req, res, next) => {
  const ignored = ignoredIn((req as unknown as { tsRestRoute: AppRoute }).tsRestRoute, req);
  if (ignored !== null) res.setHeader(IGNORED, ignored);
  next();
};

function noting(onChange: (account: Account) => void): RequestHandler {
  return (req, res, next) => {
    if (req.method !== 'GET') res.once('finish', () => onChange(accountOf(res)));
    next();
  };
}

/**
 * Browsers then use https for this host, for 30 days: a host that goes back to http is to be reached again. Not for another port,
 * because they use https for all ports of the host.
 */
const ONLY_HTTPS = 'max-age=2592000';

/** Answers are for one API key and change with time, so no cache may store them. */
function commonHeaders(address: URL | null): RequestHandler {
  const isHttps = address?.protocol === 'https:' && address.port === '';
  return (_req, res, next) => {
    res.setHeader('cache-control', 'no-store');
    res.setHeader('x-content-type-options', 'nosniff');
    if (isHttps) res.setHeader('strict-transport-security', ONLY_HTTPS);
    next();
  };
}

function readyz(readiness: AppOptions['readiness']): RequestHandler {
  return (_req, res, next) => {
    readiness().then(({ ready, checks }) => {
      res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
    }, next);
  };
}

/** Milliseconds that an answer may wait for the second check of its key. */
const SECOND_CHECK_MS = 500;

/**
 * Replaces Express's `res.json`, which would change source text (D26). If the account has too many unread answers, a long
 * result of a GET is not sent. The result of a write is always sent.
 */
function sendJson(unread: UnreadAnswers, services: RestServices | null): Response['json'] {
  return function (this: Response, body: unknown): Response {
    if (services !== null && this.statusCode < 400 && needsSecondCheck(this)) {
      const refuse = () => {
        const { status, message } = unauthorized();
        this.setHeader('www-authenticate', 'Bearer');
        this.status(status).json({ error: message });
      };
      // If the check takes too long or fails, the answer is sent: the key was valid when the request was carried out.
      Promise.race([
        services.accounts.authenticate(keyIn(this.req) ?? ''),
        sleep(SECOND_CHECK_MS, undefined, { ref: false }),
      ])
        .then(
          (account) => (account === null ? refuse() : this.json(body)),
          () => this.json(body),
        )
        .catch(() => this.destroy());
      return this;
    }
    const text = writeJson(body);
    const bytes = Buffer.byteLength(text);
    const { account } = this.locals as { account?: Account };
    const isLong = bytes >= LONG_ANSWER && account !== undefined;
    if (isLong && this.req.method === 'GET' && !unread.hasRoom(account.id)) {
      this.setHeader('retry-after', '1');
      return this.status(503).json({ error: TOO_MUCH_UNREAD });
    }
    this.setHeader('content-type', 'application/json; charset=utf-8');
    this.setHeader('content-length', bytes);
    this.end(text);
    if (isLong) unread.note(this, account.id);
    return this;
  };
}
