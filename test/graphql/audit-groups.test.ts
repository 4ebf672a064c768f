import { beforeAll, expect, it } from 'vitest';
import { insertDeadLetters } from '../support/bulk.ts';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** The audit log by group of changes, and the change before a cause of death. */

let server: Awaited<ReturnType<typeof openGraphQL>>;
let graphql: GraphQL;
let stranger: GraphQL;
let queueId = '';
const SIGN_INS = 20_000;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  server = await openGraphQL(url);
  server.op.db.readingPool.options.max = 1;
  const account = await server.newAccount();
  ({ graphql } = account);
  ({ graphql: stranger } = await server.newAccount());
  const { createQueue } = await graphql.query(
    `mutation { createQueue(input: { name: "orders", webhookUrl: "http://127.0.0.1:9/" }) { ... on CreateQueuePayload { queue { id } } } }`,
  );
  queueId = createQueue.queue.id;
  await change('updateQueue(id: $id, input: { concurrency: 7 })');
  // In parts, because a statement has four seconds.
  for (let part = 0; part < 10; part += 1) {
    await server.op.db.query(
      `select count(jobferry_audit($1, '{"type":"operator","id":null,"label":"operator"}', 'session.create', 'session', n::text))
         from generate_series(1, ${SIGN_INS / 10}) n`,
      [account.id],
    );
  }
  await server.op.db.query('analyze audit_entry');
});

async function change(field: string): Promise<void> {
  const answer = await graphql.query(`mutation C($id: ID!) { it: ${field} { __typename } }`, { id: queueId });
  expect(answer.it.__typename).toBe('QueuePayload');
}

async function read(args: string, client = graphql): Promise<string[]> {
  const { auditLog } = await client.query(`{ auditLog(${args}) { nodes { action } } }`);
  return auditLog.nodes.map(({ action }: { action: string }) => action);
}

it('returns the groups that are asked for, in pages in both directions', async () => {
  expect(await read('groups: [SETTINGS]')).toEqual(['queue.update', 'queue.create']);
  expect(await read('groups: [SIGN_INS, SETTINGS], last: 2')).toEqual(['queue.update', 'queue.create']);
  expect(await read('groups: [SETTINGS], action: "queue.create"')).toEqual(['queue.create']);
  expect(await read('groups: [ACCESS], action: "queue.create"')).toEqual([]);
  await server.op.db.query(
    `select jobferry_audit(account_id, '{"type":"service","label":"Jobferry"}', 'queue.open_breaker', 'queue', id, name)
       from queue where id = $1`,
    [queueId],
  );
  const withBreakers = await read(`groups: [SETTINGS, BREAKERS, JOBS], targetId: "${queueId}"`);
  expect(withBreakers).toEqual(['queue.open_breaker', 'queue.update', 'queue.create']);
  expect(await read('groups: [BREAKERS]')).toEqual(['queue.open_breaker']);
  await server.op.db.query(`delete from audit_entry where action = 'queue.open_breaker'`);
  expect(await read('groups: []')).toEqual([]);
  expect(await read(`groups: [SETTINGS, JOBS], targetId: "${queueId}"`)).toHaveLength(2);
  expect(await read(`groups: [SIGN_INS], targetId: "${queueId}"`)).toEqual([]);
  expect(await read('groups: [SETTINGS], actor: "another"')).toEqual([]);
  expect(await read('groups: [SETTINGS], at: { to: "2001-01-01T00:00:00Z" }')).toEqual([]);
  expect(await read('groups: [SETTINGS, SIGN_INS]', stranger)).toEqual([]);
  const first = await graphql.query(
    '{ auditLog(groups: [SETTINGS, JOBS], first: 1) { totalCount nodes { action } pageInfo { endCursor hasNextPage } } }',
  );
  expect(first.auditLog).toMatchObject({ totalCount: 2, nodes: [{ action: 'queue.update' }] });
  expect(first.auditLog.pageInfo.hasNextPage).toBe(true);
  const { endCursor } = first.auditLog.pageInfo;
  expect(await read(`groups: [SETTINGS, JOBS], first: 1, after: "${endCursor}"`)).toEqual(['queue.create']);
  const start = (await graphql.query('{ auditLog(groups: [SETTINGS], last: 1) { pageInfo { startCursor } } }'))
    .auditLog;
  expect(await read(`groups: [SETTINGS], last: 5, before: "${start.pageInfo.startCursor}"`)).toEqual(['queue.update']);
});

it('reads few changes among many sign-ins by index', async () => {
  // Each connection reports what it has read at times of its own, unless it is forced to.
  const rows = async () => {
    await server.op.db.readingPool.query('select pg_stat_force_next_flush()');
    const found = await server.op.db.one<{ rows: number }>(
      `select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_user_tables where relname = 'audit_entry'`,
    );
    return found?.rows ?? Number.NaN;
  };
  const before = await rows();
  for (const args of ['groups: [SETTINGS, ACCESS, JOBS]', `targetId: "${queueId}"`, 'action: "queue.update"']) {
    await read(args);
  }
  await expect.poll(rows).toBeGreaterThan(before);
  expect((await rows()) - before).toBeLessThan(SIGN_INS / 10);
});

it('names the newest change of settings in the hour before a cause of death', async () => {
  await change('pauseQueue(id: $id)');
  await change('checkReceiver(queueId: $id)').catch(() => undefined);
  // Tags have no effect on deliveries.
  await change('updateQueue(id: $id, input: { tags: ["mail"] })');
  await insertDeadLetters(server.op.db, queueId, 3, { code: 503, error: 'HTTP 503' });
  const groups = async (client: GraphQL) =>
    (await client.query('{ errorGroups { changeBefore { action actor targetName } queue { name } } }')).errorGroups;
  const [group] = await groups(graphql);
  expect(group).toMatchObject({ changeBefore: { action: 'queue.pause', targetName: 'orders' } });
  expect(await groups(stranger)).toEqual([]);

  // Two hours later, the change is not of the hour before.
  await server.op.db.query(`update dead_letter set dead_at = dead_at + interval '2 h' where queue_id = $1`, [queueId]);
  const late = await groups(graphql);
  expect(late.every((one: { changeBefore: object | null }) => one.changeBefore === null)).toBe(true);
});

it('has the releases that took over beside it, for every account', async () => {
  await server.op.db.query(
    `insert into release_run (version, began_at) values ('0.2.0', '2026-11-01T10:00:00Z'), ('0.3.0', '2026-11-02T10:00:00Z')`,
  );
  const releases = async (args: string, client: GraphQL) =>
    (await client.query(`{ releases${args} { version before at } }`)).releases;
  const [later, first] = [
    { version: '0.3.0', before: '0.2.0', at: '2026-11-02T10:00:00.000Z' },
    { version: '0.2.0', before: null, at: '2026-11-01T10:00:00.000Z' },
  ];
  expect(await releases('', graphql)).toEqual([later, first]);
  expect(await releases('(at: { from: "2026-11-02T00:00:00Z" })', stranger)).toEqual([later]);
  expect(await releases('(at: { to: "2026-11-01T09:00:00Z" })', stranger)).toEqual([]);
});

it.each([
  'auditLog(at: $at) { totalCount }',
  'releases(at: $at) { version }',
  'jobs(filter: { created: $at }) { nodes { id } }',
])('a range whose end is before its start is refused in %s', async (field) => {
  const at = { from: '2026-11-02T00:00:00Z', to: '2026-11-01T00:00:00Z' };
  await expect(graphql.query(`query ($at: TimeRangeInput) { ${field} }`, { at })).rejects.toThrow(
    'from must not be after to',
  );
});
