import { initServer } from '@ts-rest/express';
import { contract } from '../contract/index.ts';
import type { Services } from '../services/index.ts';
import { accountOf } from './authentication.ts';

export function deadLetterRoutes(services: Services) {
  return initServer().router(contract.deadLetters, {
    /** The spec gives `includeReplayed` no default; everything is listed unless `false` asks for less. */
    list: async ({ params, query: { includeReplayed, ...page }, res }) => ({
      status: 200,
      body: await services.listDeadLetters(accountOf(res), params.id, {
        ...page,
        includeReplayed: includeReplayed ?? true,
      }),
    }),
    replay: async ({ params, res }) => ({
      status: 201,
      body: await services.replayDeadLetter(accountOf(res), params.id, params.jobId),
    }),
    replayMany: async ({ params, body, res }) => ({
      status: 200,
      body: await services.replayDeadLetters(accountOf(res), params.id, body.jobIds ?? 'all'),
    }),
  });
}
