import { initServer } from '@ts-rest/express';
import { contract } from '../../contract/index.ts';
import type { Log } from '../errors.ts';
import { accountOf } from '../guards/authentication.ts';
import { pageBody } from './long-page.ts';
import type { RestServices } from './rest-services.ts';

export function deadLetterRoutes(services: Pick<RestServices, 'deadLetters' | 'accounts'>, log: Log) {
  const listed = { schema: contract.deadLetters.list.responses[200], log, services };
  return initServer().router(contract.deadLetters, {
    /** The spec gives `includeReplayed` no default; without it, replayed dead letters are listed too. */
    list: async ({ params, query: { includeReplayed, ...slice }, res }) => {
      const input = { ...slice, includeReplayed: includeReplayed ?? true };
      const page = await services.deadLetters.list(accountOf(res), params.id, input, () => res.destroyed);
      return { status: 200, body: pageBody(res, page, listed) };
    },
    replay: async ({ params, res }) => ({
      status: 201,
      body: await services.deadLetters.replay(accountOf(res), params.id, params.jobId),
    }),
    replayMany: async ({ params, body, res }) => ({
      status: 200,
      body: await services.deadLetters.replayMany(accountOf(res), params.id, body.jobIds ?? 'all'),
    }),
  });
}
