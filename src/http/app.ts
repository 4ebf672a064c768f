import type { RequestListener, ServerResponse } from 'node:http';
import type { AppRoute } from '@ts-rest/core';
import { createExpressEndpoints } from '@ts-rest/express';
import express, { type Express, type RequestHandler, type Response } from 'express';
import { contract, ignoredIn } from '../contract/index.ts';
import type { Account } from '../domain/account.ts';
import { errorHandler, type Log, refuseInvalidRequest } from './errors.ts';
import { type GraphQLEndpoint, mountGraphQL } from './graphql.ts';
import { accountOf, authentication } from './guards/authentication.ts';
import { bodyReader } from './guards/body.ts';
import { withCors } from './guards/cors.ts';
import { counted } from './guards/counted.ts';
import { Load } from './guards/load.ts';
import { withoutPrefix } from './guards/path-prefix.ts';
import { createPublishTurns, type PublishTurns } from './guards/publish-turns.ts';
import { createRequestLimits, type RequestRates, requestLimits } from './guards/request-limits.ts';
import { keyRights } from './guards/route-scopes.ts';
import type { UnreadAnswers } from './guards/unread-answers.ts';
import { onceAnswered } from './once-answered.ts';
import { type Dashboard, mountDashboard } from './pages/dashboard.ts';
import { mountDocumentation } from './pages/docs.ts';
import { mountGuide } from './pages/guide.ts';
import type { OpenApiOptions } from './pages/openapi/index.ts';
import { mountPlaces, placesOf } from './pages/places.ts';
import { deadLetterRoutes } from './routes/dead-letters.ts';
import { IGNORED, jobRoutes } from './routes/jobs.ts';
import { parseQuery } from './routes/query.ts';
import { queueRoutes } from './routes/queues.ts';
import { mountReportUrls } from './routes/report-url.ts';
import type { RestServices } from './routes/rest-services.ts';
import { shortAck } from './routes/short-ack.ts';
import { shortPublish } from './routes/short-publish.ts';
import { onFullWay } from './routes/short-way.ts';
import { unknownPath } from './routes/unknown-path.ts';
import { type SendJson, sendJson } from './send-json.ts';
import { basePathOf } from './sign-in/public-address.ts';
import { mountSignIn } from './sign-in/routes.ts';
import { holderOf, sessionAuthentication } from './sign-in/session-authentication.ts';
import type { SignIn } from './sign-in/sign-in.ts';

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
  /** The shares of this process that requests have; for this app alone by default. */
  load?: Load;
  /** Null for a process without the API. */
  graphql?: GraphQLEndpoint | null;
  /** Null if people cannot sign in. */
  signIn?: SignIn | null;
  /** Null if the process does not serve the dashboard. */
  dashboard?: Dashboard | null;
  /** Folder of the built guide; null if the process does not serve it. */
  guide?: string | null;
  /** Serves `/metrics`; null if these are on another port. */
  metrics?: RequestListener | null;
  /** Called when a request that may have changed something is answered, also if its client has left meanwhile. */
  onChange?: ((account: Account) => void) | undefined;
  /** Whether ordinary publishes and acks take the short way. False only in tests, which compare both ways. */
  hasShortWays?: boolean;
}

/**
 * The whole HTTP surface. Every answer is JSON, also after errors (D22), except the pages for people. A request passes
 * the steps of `beforeExpress`, then those of its kind of path; each step may answer, and then no later one sees the
 * request.
 */
export function createApp(options: AppOptions): Express {
  const { services, config, log, readiness, graphql = null, signIn = null, dashboard = null, metrics = null } = options;
  const { onChange, hasShortWays = true, guide = null, load = new Load() } = options;
  const { maxBodyBytes } = config;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('query parser', parseQuery);
  const { unread, admission } = load;
  const turns = services === null ? null : createPublishTurns(services, admission, maxBodyBytes);
  const send = sendJson(unread, services, turns);
  app.response.json = expressJson(send);

  const basePath = signIn === null ? '/' : basePathOf(signIn.address);
  const setCommonHeaders = commonHeaders(signIn?.address.url ?? null);
  const countRequest = createRequestLimits(config.requestRates ?? { ofKey: null, ofAccount: null });
  const shared = { maxBodyBytes, unread, countRequest, setCommonHeaders, send, onChange };
  const isShort = services !== null && turns !== null && hasShortWays;
  const short = isShort ? [shortPublish({ services, turns, ...shared }), shortAck({ services, ...shared })] : [];
  pass(app, beforeExpress(basePath, config.corsOrigins ?? [], turns, short));
  app.use((_req, res, next) => {
    setCommonHeaders(res);
    next();
  });
  if (services !== null && turns !== null) {
    const byKey = authentication(services, unread);
    const limits = requestLimits(countRequest);
    createExpressEndpoints(
      contract,
      { queues: queueRoutes(services), jobs: jobRoutes(services, log), deadLetters: deadLetterRoutes(services, log) },
      app,
      {
        logInitialization: false,
        responseValidation: true,
        globalMiddleware: [
          // The client, its limits and its rights are checked before the body is read,
          // so that a refused request costs no memory.
          byKey,
          limits,
          keyRights(services),
          // Before anything is done or written: what is counted of the answer.
          watched(unread, onChange),
          // After the key, whose account it counts for. It may wait twice: before its body is read, and after it.
          turns.admission,
          bodyReader(maxBodyBytes, turns.bodyRead),
        ]
          .map(onFullWay)
          // The names of the body are known now.
          .concat(namingIgnored),
        requestValidationErrorHandler: refuseInvalidRequest,
      },
    );
    mountReportUrls(app, { services, countRequest, maxBodyBytes });
    mountDocumentation(app, config);
    if (graphql !== null) {
      const byAny = signIn === null ? byKey : sessionAuthentication(signIn, unread, byKey);
      mountGraphQL(app, [byAny, limits], graphql, { maxBodyBytes, unread, holderOf: holderOf(services, signIn) });
    }
  }
  app.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.get('/readyz', readyz(readiness));
  if (metrics !== null) app.get('/metrics', metrics);
  if (signIn !== null) mountSignIn(app, signIn);
  if (guide !== null) mountGuide(app, guide);
  if (dashboard !== null) mountDashboard(app, dashboard);
  mountPlaces(app, placesOf(options), basePath);
  app.use((req, _res, next) => next(unknownPath(req)));
  app.use(errorHandler(log));
  return app;
}

type Step = (answer: RequestListener) => RequestListener;

/** The steps that every request passes before Express looks for its route, in this order. */
function beforeExpress(
  basePath: string,
  corsOrigins: readonly string[],
  turns: PublishTurns | null,
  short: readonly Step[],
): Step[] {
  return [
    // First: each answer is counted, whichever step gives it.
    counted,
    // Before the steps that look at the path.
    ...(basePath === '/' ? [] : [withoutPrefix(basePath)]),
    // Before keys are asked for: the question that a browser asks beforehand has none.
    ...(corsOrigins.length === 0 ? [] : [withCors(corsOrigins)]),
    // An overloaded process refuses most publishes, and here it has done nothing for them yet.
    ...(turns === null ? [] : [turns.before]),
    // Last: they take the rest of the steps themselves.
    ...short,
  ];
}

/** Express has no place before its routes that costs nothing for other requests, so its `handle` is replaced. */
function pass(app: Express, steps: readonly Step[]): void {
  const listener = app as unknown as { handle: RequestListener };
  listener.handle = steps.reduceRight((answer, step) => step(answer), listener.handle.bind(app));
}

/** A list may be a stream. One slice of it stays in memory until the client reads it. */
function watched(unread: UnreadAnswers, onChange: AppOptions['onChange']): RequestHandler {
  return (req, res, next) => {
    if (req.method === 'GET') unread.watch(res, accountOf(res).id);
    else if (onChange !== undefined) onceAnswered(res, () => onChange(accountOf(res)));
    next();
  };
}

function expressJson(send: SendJson): Response['json'] {
  return function (this: Response, body) {
    send(this, body);
    return this;
  };
}

/** The contract ignores unknown names (D24). The answer says which, so that a misspelling is noticed. */
const namingIgnored: RequestHandler = (req, res, next) => {
  const ignored = ignoredIn((req as unknown as { tsRestRoute: AppRoute }).tsRestRoute, req);
  if (ignored !== null) res.setHeader(IGNORED, ignored);
  next();
};

/**
 * Browsers then use https for this host, for 30 days: a host that goes back to http is to be reached again. Not for
 * another port, because they use https for all ports of the host.
 */
const ONLY_HTTPS = 'max-age=2592000';

/** Answers are for one API key and change with time, so no cache may store them. */
function commonHeaders(address: URL | null): (res: ServerResponse) => void {
  const isHttps = address?.protocol === 'https:' && address.port === '';
  return (res) => {
    res.setHeader('cache-control', 'no-store');
    res.setHeader('x-content-type-options', 'nosniff');
    if (isHttps) res.setHeader('strict-transport-security', ONLY_HTTPS);
  };
}

function readyz(readiness: AppOptions['readiness']): RequestHandler {
  return (_req, res, next) => {
    readiness().then(({ ready, checks }) => {
      res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready', checks });
    }, next);
  };
}
