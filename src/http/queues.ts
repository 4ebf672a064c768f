import { initServer } from '@ts-rest/express';
import { contract } from '../contract/index.ts';
import { accountOf } from './authentication.ts';
import type { RestServices } from './rest-services.ts';

export function queueRoutes(services: Pick<RestServices, 'queues'>) {
  return initServer().router(contract.queues, {
    list: async ({ res }) => ({ status: 200, body: await services.queues.list(accountOf(res)) }),
    create: async ({ body, res }) => ({ status: 201, body: await services.queues.create(accountOf(res), body) }),
    get: async ({ params, res }) => ({ status: 200, body: await services.queues.get(accountOf(res), params.id) }),
    update: async ({ params, body: { template: _, ...changes }, res }) => ({
      status: 200,
      body: await services.queues.update(accountOf(res), params.id, changes),
    }),
    delete: async ({ params, res }) => {
      await services.queues.delete(accountOf(res), params.id);
      return { status: 204, body: undefined };
    },
  });
}
