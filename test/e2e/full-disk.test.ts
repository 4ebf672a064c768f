import { afterEach, beforeAll, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { openReceiver } from '../support/service.ts';

/**
 * A server whose disk is full answers reads, and refuses what needs room with SQLSTATE 53100. Here a trigger refuses
 * new jobs in the same way; rigs/trials/disk.trial.ts fills a real disk.
 */

const REFUSAL = 'could not extend file "base/5/16384": No space left on device';

let cluster: Cluster;
let url: string;
let client: Api;
let queue: string;

beforeAll(async () => {
  cluster = await startCluster({ apis: 1, workers: 0 });
  client = cluster.api;
  url = cluster.apiProcesses[0]?.baseUrl ?? '';
  queue = (await client.createQueue({ webhookUrl: (await openReceiver()).url })).name;
  await cluster.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception using errcode = TG_ARGV[0], message = '${REFUSAL}'; end $$`);
});

afterEach(() => allow());

const refuse = (sqlState: string) =>
  cluster.query(`create trigger refuse before insert on job for each row execute function refuse('${sqlState}')`);
const allow = () => cluster.query('drop trigger if exists refuse on job');
const publish = () => client.call('POST', `/v1/queues/${queue}/jobs`, { payload: {} });
const readyz = async () => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { checks: Record<string, string> } };
};

it('is said by the answer, the log, the metrics and /readyz, and is over with the next job', async () => {
  await refuse('53100');
  for (let n = 0; n < 3; n += 1) {
    expect(await publish()).toMatchObject({
      status: 503,
      body: { error: 'the database takes no writes: its disk is full; nothing was stored, try again' },
    });
  }
  const process = cluster.apiProcesses[0];
  const said = () => process?.logs.filter(({ msg }) => msg === 'the database takes no writes: its disk is full') ?? [];
  expect(said()).toEqual([expect.objectContaining({ level: 'error', sqlState: '53100', detail: REFUSAL })]);
  const page = await (await fetch(`${url}/metrics`)).text();
  expect(page).toContain('\njobferry_publish_refusals_total{reason="disk_full"} 3\n');
  expect(page).toMatch(/^jobferry_database_disk_full_total 3$/m);
  const checks = { database: 'ok', writes: 'refused: the disk of the database is full' };
  await expect.poll(readyz, { message: 'the process stays ready' }).toMatchObject({ status: 200, body: { checks } });

  await allow();
  expect((await publish()).status).toBe(201);
  await expect.poll(async () => (await readyz()).body.checks).not.toHaveProperty('writes');
  expect(process?.logs.some(({ msg }) => msg === 'a write to the database has succeeded again')).toBe(true);
  await refuse('53100');
  await publish();
  expect(said(), 'the next time is told at once').toHaveLength(2);
});

it.each([
  ['53200', 'the database is out of memory; nothing was stored, try again'],
  ['53400', 'the database has reached a limit of its settings; nothing was stored, try again'],
])('names what the database lacks (%s)', async (sqlState, error) => {
  await refuse(sqlState);
  expect(await publish()).toMatchObject({ status: 503, body: { error } });
});
