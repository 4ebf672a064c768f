import { beforeAll, expect, it } from 'vitest';
import { startLanguageServer } from './support/language-server.ts';

/** An editor must go from a handler's call to the code that does it, through all wiring and wrappers. */

const CALLS: readonly (readonly [handler: string, call: string, code: string])[] = [
  ['http/routes/jobs.ts', 'await jobs.publish', 'services/jobs/publish.ts'],
  ['http/routes/jobs.ts', 'services.jobs.ack', 'services/jobs/report.ts'],
  ['http/routes/queues.ts', 'services.queues.update', 'services/queues/manage.ts'],
  ['http/routes/dead-letters.ts', 'services.deadLetters.list', 'services/dead-letters/list.ts'],
  ['http/guards/authentication.ts', 'services.accounts.authenticate', 'services/accounts/authenticate.ts'],
  ['graphql/dead-letters/mutations.ts', 'services.deadLetters.replay', 'services/dead-letters/replay.ts'],
  ['graphql/dead-letters/mutations.ts', 'services.bulk.startReplay', 'services/bulk/request.ts'],
  ['graphql/jobs/publish.ts', 'services.jobs.publishMany', 'services/jobs/publish-many.ts'],
  ['graphql/jobs/page.ts', 'services.jobs.count', 'services/jobs/search.ts'],
  ['graphql/queue-loaders.ts', 'services.insight.timelines', 'services/insight/queues.ts'],
];

const server = startLanguageServer();

beforeAll(async () => {
  await server.initialize();
  return () => server.stop();
});

it.each(CALLS)('%s: %s leads to %s', async (handler, call, code) => {
  const [definition, ...others] = await server.definitionsOf(`src/${handler}`, call);
  expect(others).toEqual([]);
  expect(definition?.file).toBe(`src/${code}`);
  // A method with a body, and not a member of an interface or of the wiring.
  const method = call.slice(call.lastIndexOf('.') + 1);
  expect(definition?.line).toMatch(new RegExp(`^async ${method}\\(`));
});
