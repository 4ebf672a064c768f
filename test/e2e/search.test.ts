import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Database } from '../../src/db/connection/database.ts';
import type { PayloadCondition } from '../../src/domain/job-filter.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { createJobSearch } from '../../src/services/jobs/search.ts';
import { type Cluster, publishMany, startCluster } from '../support/cluster.ts';
import { patient } from '../support/database-fixture.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** The workers of a real cluster make payloads searchable, whatever is published. */

let cluster: Cluster;
let search: ReturnType<typeof createJobSearch>;
let accountId = '';
const HOUR = 3_600_000;

beforeAll(async () => {
  cluster = await startCluster({ apis: 1, workers: 2 });
  const db = patient(new Database(cluster.databaseUrl, { warn: () => undefined }));
  afterAll(() => db.close());
  search = createJobSearch({ db, plans: DEFAULT_PLANS, periods: { retentionMs: 72 * HOUR, lifetimeMs: 24 * HOUR } });
  accountId = (await cluster.query<{ id: string }>('select id from account'))[0]?.id ?? '';
});

async function find(payload: PayloadCondition): Promise<string[]> {
  const account = { id: accountId, name: '', plan: 'pro', actor: { type: 'operator', id: null, label: '' } } as const;
  const newest = { field: 'created_at', descending: true } as const;
  return (await search.search(account, { payload }, newest, { limit: 100, inverted: false })).map(({ id }) => id);
}

function is(path: string, value: string | number): PayloadCondition {
  return { kind: 'test', path, op: 'EQ', value };
}

/** The ids in the index itself, without a check of the jobs. */
async function indexed(shape: object): Promise<string[]> {
  const rows = await cluster.query<{ job_id: string }>(
    'select s.job_id from job_search s join queue q on q.id = s.queue_id where s.doc @> jsonb_build_object(q.id, $1::jsonb)',
    [JSON.stringify(shape)],
  );
  return rows.map((row) => row.job_id);
}

describe('publishing', () => {
  it('makes a payload searchable at once, and in the index some seconds later', async () => {
    const receiver = await openReceiver();
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    const ids = await publishMany(cluster.api, queue.name, 60, (n) => ({ payload: { customer: { id: n } } }));
    const [id] = await find(is('customer.id', 17));
    expect(ids).toContain(id);
    await waitFor(async () => (await indexed({ customer: { id: 17 } })).length > 0, { message: 'the index' });
    expect(await indexed({ customer: { id: 17 } })).toEqual([id]);
    expect(await find(is('customer.id', 17))).toEqual([id]);
    await waitFor(async () => (await cluster.query('select from job_search')).length === 60, { message: 'the rest' });
  });

  it('a payload that jsonb cannot hold is delivered byte for byte, and stops nothing', async () => {
    const receiver = await openReceiver();
    const queue = await cluster.api.createQueue({ webhookUrl: receiver.url });
    const payloads = [
      '{"kind":"strange","text":"a\\u0000b\\ud800","number":1e999999}',
      `{"kind":"deep","d":${'['.repeat(98)}${']'.repeat(98)}}`,
      `{"kind":"fine","n":0.${'1'.repeat(30_000)}}`,
      `{"kind":"large","fill":"${'x'.repeat(200_000)}"}`,
      '{"kind":"usual"}',
    ];
    for (const payload of payloads) {
      const { status } = await cluster.api.publishRaw(queue.name, `{"payload":${payload}}`);
      expect(status).toBe(201);
    }
    await cluster.waitForCount(queue.id, 'completed', payloads.length);
    const bodies = receiver.requests.map(({ raw }) => raw.toString());
    for (const payload of payloads) expect(bodies.filter((body) => body.includes(payload))).toHaveLength(1);

    await waitFor(async () => (await indexed({ kind: 'usual' })).length === 1, {
      message: 'the last one in the index',
    });
    expect(await find(is('text', 'a\ufffdb\ufffd'))).toHaveLength(1);
    expect(await find(is('kind', 'deep'))).toHaveLength(1);
    expect(await find(is('kind', 'fine'))).toEqual([]);
    expect(await find(is('kind', 'large'))).toEqual([]);
    const warnings = cluster.workers.flatMap(({ logs }) => logs.filter(({ msg }) => msg.includes('indexing')));
    expect(warnings).toEqual([]);
  });
});
