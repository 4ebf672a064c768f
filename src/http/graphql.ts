import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express } from 'express';
import type { Account, Services } from '../services/index.ts';
import { accountOf, authentication } from './authentication.ts';
import { jsonBodyReader } from './body.ts';
import { HttpRefusal } from './errors.ts';

/** What this folder knows of GraphQL: something that answers a JSON body for an account. */
export interface GraphQLEndpoint {
  execute(req: IncomingMessage, res: ServerResponse, account: Account, body: object): Promise<void>;
  /** The explorer for browsers; null when it is switched off. */
  page: ((req: IncomingMessage, res: ServerResponse) => Promise<void>) | null;
}

/**
 * JSON only, by POST only: forms and GET requests, which other sites can make a browser send, never
 * reach GraphQL. Keys, body limits and refusals are those of REST.
 */
export function mountGraphQL(app: Express, services: Services, endpoint: GraphQLEndpoint, maxBodyBytes: number): void {
  const { page } = endpoint;
  if (page !== null) {
    app.get('/graphql', (req, res, next) => {
      if (req.headers.accept?.includes('text/html') === true) page(req, res).catch(next);
      else next();
    });
  }
  app.post('/graphql', authentication(services), jsonBodyReader(maxBodyBytes), (req, res, next) => {
    const body: unknown = req.body;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      next(new HttpRefusal(400, 'the body must be a JSON object; batches are not supported'));
      return;
    }
    endpoint.execute(req, res, accountOf(res), body).catch(next);
  });
  app.all('/graphql', (_req, res, next) => {
    res.setHeader('allow', 'POST');
    next(new HttpRefusal(405, 'GraphQL is asked by POST with a JSON body'));
  });
}
