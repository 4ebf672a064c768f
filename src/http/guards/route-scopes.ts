import type { Request, RequestHandler } from 'express';
import { contract } from '../../contract/index.ts';
import type { Account } from '../../domain/account.ts';
import { notFound } from '../../domain/errors.ts';
import { assertScope, hasQueue, hasScope, type KeyScope } from '../../domain/key-rights.ts';
import type { RestServices } from '../routes/rest-services.ts';
import { accountOf } from './authentication.ts';

type RouteId = {
  [Group in keyof typeof contract]: `${Group}.${keyof (typeof contract)[Group] & string}`;
}[keyof typeof contract];

/** The scope that an API key with limits needs for each route. */
export const SCOPE_OF_ROUTE: Readonly<Record<RouteId, KeyScope>> = {
  'queues.list': 'read',
  'queues.create': 'manage',
  'queues.get': 'read',
  'queues.update': 'manage',
  'queues.delete': 'manage',
  'jobs.publish': 'publish',
  'jobs.list': 'read',
  'jobs.get': 'read',
  'jobs.ack': 'report',
  'jobs.nack': 'report',
  'jobs.defer': 'report',
  'deadLetters.list': 'read',
  'deadLetters.replay': 'manage',
  'deadLetters.replayMany': 'manage',
};

const SCOPES: ReadonlyMap<unknown, KeyScope> = new Map(
  Object.entries(contract).flatMap(([group, routes]) =>
    Object.entries(routes).map(([name, route]) => [route, SCOPE_OF_ROUTE[`${group}.${name}` as RouteId]] as const),
  ),
);

/**
 * Refuses what the client's API key has no right to, before the body is read. Costs nothing for a key without limits.
 */
export function keyRights(services: Pick<RestServices, 'accounts'>): RequestHandler {
  return (req, res, next) => {
    const account = accountOf(res);
    const { rights } = account;
    if (rights == null) {
      next();
      return;
    }
    const { tsRestRoute: route } = req as { tsRestRoute?: unknown };
    assertScope(rights, SCOPES.get(route) ?? 'admin');
    const named = rights.queues.length === 0 ? null : queueIn(req, route);
    if (named === null) {
      next();
      return;
    }
    const name = 'name' in named ? Promise.resolve(named.name) : services.accounts.queueName(account, named);
    // Queues beyond the key's limits are like those of other accounts. What does not exist is left to the route.
    name.then(
      (found) =>
        next(found === null || hasQueue(rights, found) ? undefined : notFound('jobId' in named ? 'job' : 'queue')),
      next,
    );
  };
}

/** Whether the rights of the client's key allow it to publish to this queue. */
export function mayPublish({ rights }: Account, queueName: string): boolean {
  return rights == null || (hasScope(rights, SCOPE_OF_ROUTE['jobs.publish']) && hasQueue(rights, queueName));
}

/** Whether the rights of the client's key allow it to report on jobs of all queues. */
export function mayReport({ rights }: Account): boolean {
  return rights == null || (hasScope(rights, SCOPE_OF_ROUTE['jobs.ack']) && rights.queues.length === 0);
}

/** Returns how the request names its queue; null if it names none, or only in its body. */
function queueIn(
  { params }: Request,
  route: unknown,
): { name: string } | { queueId: string } | { jobId: string } | null {
  const { queueName, id } = params as { queueName?: string; id?: string };
  if (queueName !== undefined) return { name: queueName };
  if (id === undefined) return null;
  const isJob = Object.values<unknown>(contract.jobs).includes(route) && route !== contract.jobs.list;
  return isJob ? { jobId: id } : { queueId: id };
}
