import { initServer } from '@ts-rest/express';
import { contract } from '../contract/index.ts';
import type { Services } from '../services/index.ts';
import { accountOf } from './authentication.ts';

export function queueRoutes(services: Services) {
  return initServer().router(contract.queues, {
    list: async ({ res }) => ({ status: 200, body: await services.listQueues(accountOf(res)) }),
    create: async ({ body, res }) => ({ status: 201, body: await services.createQueue(accountOf(res), body) }),
    get: async ({ params, res }) => ({ status: 200, body: await services.getQueue(accountOf(res), params.id) }),
    update: async ({ params, body: { template: _, ...changes }, res }) => ({
      status: 200,
      body: await services.updateQueue(accountOf(res), params.id, changes),
    }),
    delete: async ({ params, res }) => {
      await services.deleteQueue(accountOf(res), params.id);
      return { status: 204, body: undefined };
    },
  });
}
