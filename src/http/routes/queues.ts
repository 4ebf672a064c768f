import { initServer } from '@ts-rest/express';
import type { Response } from 'express';
import { contract } from '../../contract/index.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { hasQueue } from '../../domain/key-rights.ts';
import { accountOf } from '../guards/authentication.ts';
import type { RestServices } from './rest-services.ts';

/** Says of a queue that was accepted what will not work. */
const WARNING = 'x-jobferry-warning';

export function queueRoutes(services: Pick<RestServices, 'queues'>) {
  const warn = (res: Response, webhookUrl: string) => {
    const warning = services.queues.addressWarning(webhookUrl);
    if (warning !== null) res.setHeader(WARNING, warning);
  };
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
      const queue = await services.queues.create(account, body);
      warn(res, queue.webhookUrl);
      return { status: 201, body: queue };
    },
    get: async ({ params, res }) => ({ status: 200, body: await services.queues.get(accountOf(res), params.id) }),
    update: async ({ params, body: { template: _, ...changes }, res }) => {
      const queue = await services.queues.update(accountOf(res), params.id, changes);
      warn(res, queue.webhookUrl);
      return { status: 200, body: queue };
    },
    delete: async ({ params, res }) => {
      await services.queues.delete(accountOf(res), params.id);
      return { status: 204, body: undefined };
    },
  });
}

function mayUse({ rights }: Account, queueName: string): boolean {
  return rights == null || hasQueue(rights, queueName);
}
