import { beforeAll, describe, expect, it } from 'vitest';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { createTestDatabase } from '../support/database.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openGraphQL } from '../support/graphql-server.ts';

/** Causes of dead letters that people dismiss, over the wire, each test with an account of its own. */

let server: Awaited<ReturnType<typeof openGraphQL>>;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  server = await openGraphQL(url);
});

interface Fixture {
  graphql: GraphQL;
  accountId: string;
  queueId: string;
}

async function newAccount(): Promise<Fixture> {
  const { graphql, id } = await server.newAccount();
  return { graphql, accountId: id, queueId: await createQueue(graphql, 'one') };
}

async function createQueue(graphql: GraphQL, name: string): Promise<string> {
  const { createQueue: created } = await graphql.query(
    `mutation Q($input: CreateQueueInput!) { createQueue(input: $input) { ... on CreateQueuePayload { queue { id } } } }`,
    { input: { name, webhookUrl: 'http://127.0.0.1:9/' } },
  );
  return created.queue.id;
}

const die = (queueId: string, count: number, code: number) =>
  insertDeadLetters(server.op.db, queueId, count, { code, error: `HTTP ${code}` });

interface Group {
  fingerprint: string;
  webhookStatusCode: number;
  count: number;
  dismissal: { until: string; dismissedBy: string } | null;
}

async function groups(graphql: GraphQL, dismissed?: boolean): Promise<Group[]> {
  const filter = dismissed === undefined ? {} : { dismissed };
  const { errorGroups } = await graphql.query(
    `query G($filter: DeadLetterFilter) {
      errorGroups(acrossQueues: true, filter: $filter) {
        fingerprint webhookStatusCode count dismissal { until dismissedBy }
      }
    }`,
    { filter },
  );
  return errorGroups;
}

const counts = async (graphql: GraphQL, dismissed?: boolean) =>
  Object.fromEntries(
    (await groups(graphql, dismissed)).map(({ webhookStatusCode, count }) => [webhookStatusCode, count]),
  );

async function fingerprintOf(graphql: GraphQL, code: number): Promise<string> {
  const group = (await groups(graphql)).find(({ webhookStatusCode }) => webhookStatusCode === code);
  return group?.fingerprint ?? '';
}

async function dismiss(graphql: GraphQL, fingerprint: string, until?: Date) {
  const { dismissErrorGroup } = await graphql.query(
    `mutation D($fingerprint: String!, $until: DateTime) {
      dismissErrorGroup(fingerprint: $fingerprint, until: $until) {
        __typename
        ... on DismissErrorGroupPayload { dismissal { fingerprint until dismissedAt dismissedBy } }
        ... on Error { message }
      }
    }`,
    { fingerprint, until: until?.toISOString() ?? null },
  );
  return dismissErrorGroup;
}

const restore = async (graphql: GraphQL, fingerprint: string) =>
  (
    await graphql.query(
      `mutation R($fingerprint: String!) { restoreErrorGroup(fingerprint: $fingerprint) { __typename } }`,
      { fingerprint },
    )
  ).restoreErrorGroup.__typename;

const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);

describe('a dismissed cause', () => {
  it('is left out of all queues, and comes back when it occurs again', async () => {
    const { graphql, queueId } = await newAccount();
    const other = await createQueue(graphql, 'two');
    await die(queueId, 3, 500);
    await die(other, 2, 500);
    await die(queueId, 1, 404);
    const fingerprint = await fingerprintOf(graphql, 500);
    const { me } = await graphql.query('{ me { label } }');
    expect((await dismiss(graphql, fingerprint)).dismissal).toEqual({
      fingerprint,
      until: expect.any(String),
      dismissedAt: expect.any(String),
      dismissedBy: me.label,
    });
    expect(await counts(graphql, false)).toEqual({ 404: 1 });
    expect(await counts(graphql, true)).toEqual({ 500: 5 });
    expect(await counts(graphql)).toEqual({ 500: 5, 404: 1 });
    const { deadLetters, one } = await graphql.query(
      `query L($id: ID!) {
        deadLetters(filter: { dismissed: false }) { totalCount }
        one: queue(id: $id) { deadLetters(filter: { dismissed: true }) { totalCount } }
      }`,
      { id: other },
    );
    expect([deadLetters.totalCount, one.deadLetters.totalCount]).toEqual([1, 2]);

    // An equal error and one with another code: only the new one is shown.
    await die(other, 1, 500);
    await die(queueId, 1, 502);
    expect(await counts(graphql, false)).toEqual({ 404: 1, 500: 1, 502: 1 });
    const again = (await groups(graphql, false)).find(({ webhookStatusCode }) => webhookStatusCode === 500);
    expect(again?.dismissal).toMatchObject({ dismissedBy: me.label });
  });

  it('stays away until the chosen time', async () => {
    const { graphql, queueId, accountId } = await newAccount();
    await die(queueId, 1, 500);
    const fingerprint = await fingerprintOf(graphql, 500);
    const until = inDays(7);
    expect((await dismiss(graphql, fingerprint, until)).dismissal.until).toBe(until.toISOString());
    await die(queueId, 2, 500);
    expect(await counts(graphql, false)).toEqual({});
    // As if the week were over before the last two.
    await server.op.db.query(
      `update dismissal set until = (select min(dead_at) from dead_letter d where d.queue_id = $2) where account_id = $1`,
      [accountId, queueId],
    );
    expect((await counts(graphql, false))[500]).toBe(2);
  });

  it('is listed, can get another end and be restored, and all of it is audited', async () => {
    const { graphql, queueId } = await newAccount();
    await die(queueId, 1, 500);
    await die(queueId, 1, 404);
    const [first, second] = [await fingerprintOf(graphql, 500), await fingerprintOf(graphql, 404)];
    const [soon, later] = [inDays(1), inDays(2)];
    await dismiss(graphql, first, soon);
    await dismiss(graphql, second, soon);
    await dismiss(graphql, first, later);
    const listed = async () => (await graphql.query('{ dismissals { fingerprint until } }')).dismissals;
    expect(await listed()).toEqual([
      { fingerprint: first, until: later.toISOString() },
      { fingerprint: second, until: soon.toISOString() },
    ]);
    expect(await restore(graphql, first)).toBe('RestoreErrorGroupPayload');
    expect(await restore(graphql, first)).toBe('NotFoundError');
    expect(await listed()).toEqual([{ fingerprint: second, until: soon.toISOString() }]);
    expect(await counts(graphql, false)).toEqual({ 500: 1 });
    const { auditLog } = await graphql.query(
      'query A($id: ID!) { auditLog(targetId: $id) { nodes { action targetType before after } } }',
      { id: first },
    );
    const [one, two] = [soon, later].map((until) => ({ until: until.toISOString() }));
    const entry = { targetType: 'error_group' };
    expect(auditLog.nodes).toEqual([
      { ...entry, action: 'error_group.restore', before: two, after: null },
      { ...entry, action: 'error_group.dismiss', before: one, after: two },
      { ...entry, action: 'error_group.dismiss', before: null, after: one },
    ]);
  });

  it('is only of its account, and must be known', async () => {
    const [own, other] = [await newAccount(), await newAccount()];
    await die(own.queueId, 1, 500);
    await die(other.queueId, 1, 500);
    await die(own.queueId, 1, 404);
    const fingerprint = await fingerprintOf(own.graphql, 500);
    await dismiss(own.graphql, fingerprint);
    expect(await counts(other.graphql, false)).toEqual({ 500: 1 });
    expect((await other.graphql.query('{ dismissals { fingerprint } }')).dismissals).toEqual([]);
    expect(await restore(other.graphql, fingerprint)).toBe('NotFoundError');
    // Known to the other account only, to none, and no fingerprint at all.
    const foreign = await fingerprintOf(own.graphql, 404);
    for (const unknown of [foreign, 'f'.repeat(16), '', 'x'.repeat(5000), '\u0000']) {
      expect((await dismiss(other.graphql, unknown)).__typename).toBe('NotFoundError');
    }
  });

  it('ends within 90 days, and an account has at most 200', async () => {
    const { graphql, queueId, accountId } = await newAccount();
    await die(queueId, 1, 500);
    await die(queueId, 1, 404);
    const [first, second] = [await fingerprintOf(graphql, 500), await fingerprintOf(graphql, 404)];
    for (const until of [inDays(91), new Date('9999-01-01'), new Date('1969-12-31')]) {
      expect((await dismiss(graphql, first, until)).message).toMatch(/at most 90 days/);
    }
    expect((await dismiss(graphql, first, inDays(89))).__typename).toBe('DismissErrorGroupPayload');
    await server.op.db.query(
      `insert into dismissal (account_id, fingerprint, until, dismissed_by)
       select $1, lpad(to_hex(n), 16, '0'), jobferry_now(), 'test' from generate_series(1, 199) n`,
      [accountId],
    );
    expect((await dismiss(graphql, second)).message).toMatch(/200 dismissed causes/);
    // Another end of one that there is already.
    expect((await dismiss(graphql, first, inDays(1))).__typename).toBe('DismissErrorGroupPayload');
    expect((await graphql.query('{ dismissals { until } }')).dismissals).toHaveLength(200);
  });

  it('is forgotten when nothing of the time before its end is kept', async () => {
    const { graphql, queueId, accountId } = await newAccount();
    await die(queueId, 1, 500);
    await dismiss(graphql, await fingerprintOf(graphql, 500));
    const { db, context } = server.op;
    const { retentionMs, lifetimeMs } = context.periods;
    const left = async () => (await db.query('select from dismissal where account_id = $1', [accountId])).length;
    await sweepByTime(db, 'audit', Date.now() + retentionMs + lifetimeMs - 60_000, context.periods);
    expect(await left()).toBe(1);
    await sweepByTime(db, 'audit', Date.now() + retentionMs + lifetimeMs + 60_000, context.periods);
    expect(await left()).toBe(0);
  });

  it('does not make a replay of everything narrow', async () => {
    const { graphql, queueId } = await newAccount();
    await die(queueId, 2, 500);
    await die(queueId, 1, 404);
    await dismiss(graphql, await fingerprintOf(graphql, 500));
    const replay = async (all: boolean) =>
      (
        await graphql.query(
          `mutation R($all: Boolean!) {
            replayDeadLetters(filter: { dismissed: false }, all: $all, dryRun: true) {
              ... on BulkActionPayload { matched } ... on Error { message }
            }
          }`,
          { all },
        )
      ).replayDeadLetters;
    expect((await replay(false)).message).toMatch(/all: true/);
    expect(await replay(true)).toEqual({ matched: 1 });
  });
});
