import { initServer } from '@ts-rest/express';
import { contract } from '../contract/index.ts';
import type { Services } from '../services/index.ts';
import { accountOf } from './authentication.ts';
import type { Log } from './errors.ts';
import { pageBody } from './long-page.ts';

export function deadLetterRoutes(services: Services, log: Log) {
  return initServer().router(contract.deadLetters, {
    /** The spec gives `includeReplayed` no default; without it, replayed dead letters are listed too. */
    list: async ({ params, query: { includeReplayed, ...asked }, res }) => {
      const input = { ...asked, includeReplayed: includeReplayed ?? true };
      const page = await services.listDeadLetters(accountOf(res), params.id, input, () => res.destroyed);
      return { status: 200, body: pageBody(res, log, contract.deadLetters.list.responses[200], page) };
    },
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
