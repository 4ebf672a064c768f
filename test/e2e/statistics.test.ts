import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { startInProcess } from '../support/in-process.ts';
import { openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

let api: Api;
let databaseUrl: string;
let client: pg.Client;

beforeAll(async () => {
  ({ api, databaseUrl } = await startService());
  client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
});

afterAll(() => client.end());

async function rows<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query<Row>(text, values)).rows;
}

describe('a running worker', () => {
  it('rolls up what was delivered, with its time and its wait', async () => {
    const receiver = await openReceiver({ status: 200 });
    const queue = await api.createQueue({ webhookUrl: receiver.url });
    const published = await Promise.all([1, 2, 3].map(() => api.publish(queue.name)));
    for (const { id } of published) await api.waitForStatus(id, 'completed');
    const totals = () =>
      rows<{ success: string; measured: string }>(
        `select sum(success) as success,
                sum((select sum(d) from unnest(durations) d) + (select sum(w) from unnest(waits) w)) as measured
           from queue_stats where queue_id = $1`,
        [queue.id],
      );
    await waitFor(async () => (await totals())[0]?.success === '3', { message: 'the statistics to follow' });
    expect((await totals())[0]).toEqual({ success: '3', measured: '6' });
    const completed = 'select sum(completed) as n from queue_completed where queue_id = $1';
    expect(await rows(completed, [queue.id])).toEqual([{ n: '3' }]);
  });
});

describe('a running process', () => {
  it.each([
    ['api', 0],
    ['worker', 1000],
  ] as const)('a process of role %s tells that it is alive, until it is stopped', async (role, capacity) => {
    const jobferry = await startInProcess({ databaseUrl, role });
    const present = () =>
      rows<{ id: string; version: string; in_flight: number; capacity: number }>(
        'select id, version, in_flight, capacity from instance where role = $1',
        [role],
      );
    const [row] = await waitFor(async () => ((await present()).length > 0 ? present() : null), { message: 'its row' });
    expect(row).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+/), in_flight: 0, capacity });
    await jobferry.stop();
    expect(await present()).toEqual([]);
    // The other process goes on.
    expect(await rows(`select role from instance`)).toEqual([{ role: 'all' }]);
  });
});
