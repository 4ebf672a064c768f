import { describe, expect, it } from 'vitest';
import { contract } from '../../src/contract/index.ts';
import type { Account } from '../../src/domain/account.ts';
import { KEY_SCOPES, type KeyScope } from '../../src/domain/key-rights.ts';
import { SCOPE_OF_ROUTE } from '../../src/http/guards/route-scopes.ts';
import { testApi } from '../support/fake-api.ts';
import { account, ID } from '../support/fake-services.ts';

/** REST with an API key that has limits. The queue of every job and of every id is `mails`. */

const ROUTES = Object.entries(contract).flatMap(([group, routes]) =>
  Object.entries(routes).map(([name, { method, path }]) => ({ id: `${group}.${name}`, method, path: path as string })),
);

/** A valid request of each route, whose queue is `mails`. */
const BODIES: Readonly<Record<string, object>> = {
  'queues.create': { name: 'mails', webhookUrl: 'http://127.0.0.1:1/' },
  'queues.update': {},
  'jobs.publish': { payload: {} },
  'jobs.defer': { retryAfter: 1 },
  'deadLetters.replayMany': { all: true },
};

async function apiOf(scopes: readonly KeyScope[], queues: readonly string[] = []) {
  const client: Account = { ...account, rights: { scopes, queues, expiresAt: null } };
  const api = await testApi({ services: { accounts: { authenticate: async () => client } } });
  const send = async ({ id, method, path }: (typeof ROUTES)[number]) => {
    const at = path.replace(':queueName', 'mails').replaceAll(/:\w+/g, ID);
    const body = BODIES[id];
    return api.send(method, at, body === undefined ? {} : { body: JSON.stringify(body) });
  };
  return { ...api, send };
}

describe.concurrent('an API key with limits', () => {
  it.each(KEY_SCOPES)('a key with the scope %s may use its routes, and no other', async (scope) => {
    const { send, calls } = await apiOf([scope]);
    for (const route of ROUTES) {
      const { status, json } = await send(route);
      const needed = SCOPE_OF_ROUTE[route.id as keyof typeof SCOPE_OF_ROUTE];
      const isAllowed = scope === 'admin' || scope === needed;
      expect([route.id, status < 300], route.id).toEqual([route.id, isAllowed]);
      if (!isAllowed) {
        expect({ status, json }).toEqual({
          status: 403,
          json: { error: `this API key has no right to this: it needs the scope ${needed}` },
        });
        expect(calls.filter(({ method }) => method === route.id)).toEqual([]);
      }
    }
  });

  it('a key of one queue may use every route for it', async () => {
    const { send } = await apiOf(['publish', 'read', 'report', 'manage'], ['mails']);
    for (const route of ROUTES) expect([route.id, (await send(route)).status < 300]).toEqual([route.id, true]);
  });

  it('a key of another queue finds nothing', async () => {
    const { send, calls } = await apiOf(['publish', 'read', 'report', 'manage'], ['other']);
    for (const route of ROUTES) {
      const { status, json } = await send(route);
      if (route.id === 'queues.list') expect([status, json]).toEqual([200, []]);
      else if (route.id === 'queues.create')
        expect([status, json.error]).toEqual([403, expect.stringContaining('mails')]);
      else {
        const what = /^jobs\.(get|ack|nack|defer)$/.test(route.id) ? 'job' : 'queue';
        expect([route.id, status, json]).toEqual([route.id, 404, { error: `${what} not found` }]);
      }
    }
    expect(calls.map(({ method }) => method).filter((method) => !/^accounts|queues\.list/.test(method))).toEqual([]);
  });

  it('asks for the queue of a job only if it is limited to queues', async () => {
    const { send, calls } = await apiOf(['read', 'report']);
    for (const route of ROUTES) await send(route);
    expect(calls.filter(({ method }) => method === 'accounts.queueName')).toEqual([]);
  });
});
