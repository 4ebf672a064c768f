import { beforeAll, expect, it } from 'vitest';
import { createServerFacts } from '../../src/services/server/facts.ts';
import { createReadiness } from '../../src/services/server/readiness.ts';
import { ReleaseWatch } from '../../src/services/server/release-watch.ts';
import { connect } from '../support/database.ts';
import { DELIVERED, LIFETIME_MS, RETENTION_MS, takeOverClock } from '../support/database-fixture.ts';
import { type Insight, openInsight } from '../support/insight.ts';

const START = Date.UTC(2026, 10, 30, 23, 59);

let insight: Insight;
let setClock: (ms: number) => Promise<void>;

beforeAll(async () => {
  insight = await openInsight();
  setClock = await takeOverClock(insight.db, START);
});

it('returns the usage of an account', async () => {
  const nothing = { month: '2026-11', attempts: 0, inFlight: 0, concurrency: 0, queues: 0 };
  expect(await insight.usage(insight.account)).toEqual(nothing);
  const one = await insight.createQueue({ concurrency: 7, mode: 'ack' });
  const two = await insight.createQueue({ concurrency: 4 });
  for (const queue of [one, two]) await insight.publishJobs(queue, 3);
  for (const job of (await insight.claim(one)).jobs) await insight.settle(job, DELIVERED);
  await insight.claim(two, 2);
  const used = { month: '2026-11', attempts: 5, inFlight: 5, concurrency: 11, queues: 2 };
  expect(await insight.usage(insight.account)).toEqual(used);
  await insight.db.query('update queue set deleted_at = jobferry_now() where id = $1', [two.id]);
  // Jobs in flight of a deleted queue are still in flight.
  expect(await insight.usage(insight.account)).toEqual({ ...used, concurrency: 7, queues: 1 });
  expect(await insight.usage(insight.other)).toEqual(nothing);
  await setClock(START + 60_000);
  expect(await insight.usage(insight.account)).toMatchObject({ month: '2026-12', attempts: 0, inFlight: 5 });
});

it('returns who holds old snapshots, to the account of the operator', async () => {
  const { db, url } = insight;
  const holder = await connect(url);
  await holder.query(`set application_name = 'analyst-notebook'`);
  await holder.query('begin isolation level repeatable read; select 1');
  const server = { version: '1.2.3', environment: 'test', webhookTimeoutMs: 15_000 };
  const context = { db, server, templates: {}, periods: { retentionMs: RETENTION_MS, lifetimeMs: LIFETIME_MS } };
  const ofAll = createServerFacts(context, { seconds: 0, ids: 1e9 });
  const held = { kind: 'session', program: 'analyst-notebook', state: 'idle in transaction' };
  expect(await ofAll.snapshots(insight.account)).toEqual({ seesAll: true, holders: [expect.objectContaining(held)] });
  expect(await ofAll.snapshots(insight.other)).toBeNull();
  expect(await createServerFacts(context).snapshots(insight.account)).toEqual({ seesAll: true, holders: [] });
});

it('returns the facts of the server, by the database clock', async () => {
  await setClock(START + 1);
  const { now, ...server } = await insight.facts();
  // Queried once a second, and counted on in between.
  expect(now.getTime() - START).toBeGreaterThanOrEqual(1);
  expect(now.getTime() - START).toBeLessThan(60_000);
  expect(server).toEqual({
    version: '1.2.3',
    environment: 'test',
    // The database's clock is shifted here.
    clockOffsetSeconds: expect.closeTo((now.getTime() - Date.now()) / 1000, -1),
    retentionSeconds: RETENTION_MS / 1000,
    lifetimeSeconds: LIFETIME_MS / 1000,
    webhookTimeoutSeconds: 15,
    templates: [],
  });
});

it.each([
  [
    'makes the worker of a process unready if another process has it',
    true,
    false,
    { worker: 'ENCRYPTION_KEY lacks k' },
  ],
  ['is only reported if no process has it', false, true, { keys: 'ENCRYPTION_KEY lacks k', worker: 'ok' }],
])('a missing key %s', async (_what, isElsewhere, ready, said) => {
  const { db } = insight;
  const log = { warn: () => undefined, info: () => undefined };
  const problem = { text: 'ENCRYPTION_KEY lacks k', isElsewhere };
  const answer = await createReadiness({
    db,
    log,
    release: new ReleaseWatch({ db, log, startsBeside: false }),
    workerProblem: () => (isElsewhere ? problem.text : null),
    keyProblem: () => problem,
    egressProblem: () => null,
    publishProblem: () => null,
  })();
  expect(answer).toMatchObject({ ready, checks: said });
});
