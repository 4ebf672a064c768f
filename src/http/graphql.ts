import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, RequestHandler } from 'express';
import { assertGraphQL } from '../domain/key-rights.ts';
import type { SignedIn } from '../domain/session.ts';
import { Starts } from '../pacing/starts.ts';
import { HttpRefusal } from './errors.ts';
import { accountOf, clientOf } from './guards/authentication.ts';
import { jsonBodyReader } from './guards/body.ts';
import { needsSecondCheck, type Standing, secondCheck } from './guards/second-check.ts';
import type { UnreadAnswers } from './guards/unread-answers.ts';
import { requestIdOf } from './server/request-id.ts';

/** Parsing and checking one request takes at least a millisecond of the event loop. */
const PACE = { items: 4, ms: 2 };

/** The client of a GraphQL request. */
interface GraphQLCaller {
  client: SignedIn;
  /** False if the buffered data for the account's clients takes all its room. */
  hasRoom: () => boolean;
  /** Whether the key or session is still in force, before the result of a query is sent. */
  standing: () => Promise<Standing>;
  requestId: string;
}

/** The GraphQL server as this folder uses it. */
export interface GraphQLEndpoint {
  execute(req: IncomingMessage, res: ServerResponse, body: object, caller: GraphQLCaller): Promise<void>;
  /** Serves the explorer to browsers; null if it is switched off. */
  page: ((req: IncomingMessage, res: ServerResponse) => Promise<void>) | null;
}

/** Before the body is read. A person, and a key without limits, may use GraphQL. */
const mayUseGraphQL: RequestHandler = (_req, res, next) => {
  assertGraphQL(accountOf(res).rights);
  next();
};

/**
 * Accepts JSON by POST only, so that forms and GET requests, which other sites can make a browser send, never
 * reach GraphQL. Keys, body limits and refusals are the same as for REST.
 */
export function mountGraphQL(
  app: Express,
  entry: readonly RequestHandler[],
  endpoint: GraphQLEndpoint,
  {
    maxBodyBytes,
    unread,
    holderOf,
  }: { maxBodyBytes: number; unread: UnreadAnswers; holderOf: (req: IncomingMessage) => Promise<object | null> },
): void {
  const { page } = endpoint;
  const starts = new Starts(PACE);
  if (page !== null) {
    app.get('/graphql', (req, res, next) => {
      if (req.headers.accept?.includes('text/html') === true) page(req, res).catch(next);
      else next();
    });
  }
  app.post('/graphql', ...entry, mayUseGraphQL, jsonBodyReader(maxBodyBytes), (req, res, next) => {
    const body: unknown = req.body;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      next(new HttpRefusal(400, 'the body must be a JSON object; batches are not supported'));
      return;
    }
    const account = accountOf(res);
    // A library writes the answer, in one piece or as events.
    unread.watch(res, account.id);
    const hasRoom = () => unread.hasRoom(account.id);
    const requestId = requestIdOf(res);
    const standing = async () => (needsSecondCheck(res) ? secondCheck(holderOf(req), 'read') : 'valid');
    starts.add(account.id, () => {
      // The client may have disconnected.
      if (res.destroyed) return;
      endpoint.execute(req, res, body, { client: clientOf(res), hasRoom, standing, requestId }).catch(next);
    });
  });
  app.all('/graphql', (_req, res, next) => {
    res.setHeader('allow', 'POST');
    next(new HttpRefusal(405, 'GraphQL requests must be sent by POST with a JSON body'));
  });
}
