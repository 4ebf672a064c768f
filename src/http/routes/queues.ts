import { initServer } from '@ts-rest/express';
import { contract } from '../../contract/index.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { hasQueue } from '../../domain/key-rights.ts';
import { accountOf } from '../guards/authentication.ts';
import type { RestServices } from './rest-services.ts';

export function queueRoutes(services: Pick<RestServices, 'queues'>) {
  return initServer().router(contract.queues, {
    list: async ({ res }) => {
      const account = accountOf(res);
      const queues = await services.queues.list(account);
      return { status: 200, body: queues.filter(({ name }) => mayUse(account, name)) };
    },
    create: async ({ body, res }) => {
      const account = accountOf(res);
      if (!mayUse(account, body.name)) {
        throw new JobferryError('forbidden', `this API key has no right to a queue named ${body.name}`);
      }
      return { status: 201, body: await services.queues.create(account, body) };
    },
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

function mayUse({ rights }: Account, queueName: string): boolean {
  return rights == null || hasQueue(rights, queueName);
}
