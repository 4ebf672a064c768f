import { initServer } from '@ts-rest/express';
import { contract } from '../contract/index.ts';
import type { Services } from '../services/index.ts';
import { accountOf } from './authentication.ts';
import type { Log } from './errors.ts';
import { pageBody } from './long-page.ts';

export function jobRoutes(services: Services, log: Log) {
  return initServer().router(contract.jobs, {
    publish: async ({ params, body, res }) => {
      const { created, job } = await services.publishJob(accountOf(res), params.queueName, body);
      return { status: created ? 201 : 200, body: job };
    },
    list: async ({ params, query, res }) => {
      const page = await services.listJobs(accountOf(res), params.id, query, () => res.destroyed);
      return { status: 200, body: pageBody(res, log, contract.jobs.list.responses[200], page) };
    },
    get: async ({ params, res }) => ({ status: 200, body: await services.getJob(accountOf(res), params.id) }),
    ack: async ({ params, body, res }) => ({
      status: 200,
      body: await services.ackJob(accountOf(res), params.id, body),
    }),
    nack: async ({ params, body: { reason = null, ...input }, res }) => ({
      status: 200,
      body: await services.nackJob(accountOf(res), params.id, { ...input, reason }),
    }),
    defer: async ({ params, body: { reason = null, ...input }, res }) => ({
      status: 200,
      body: await services.deferJob(accountOf(res), params.id, { ...input, reason }),
    }),
  });
}
