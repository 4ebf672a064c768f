import { describe, expect, it } from 'vitest';
import { claimNotifications } from '../../src/db/alerts/notifications.ts';
import { ALERT_LIMITS } from '../../src/domain/alert-rule.ts';
import { counts } from '../../src/telemetry/counts/counts.ts';
import { type AlertAccount, openAlertAccounts, received, silence, states } from '../support/alert-accounts.ts';
import { createRule } from '../support/alerts.ts';

/** Alerts when receivers, clocks, secrets and people are in trouble, and when there are very many. */

const { server, newAccount, evaluate, send, age, fire, resolve, due, die, forget, sql } = openAlertAccounts();

const DEAD_LETTERS = { kind: 'DEAD_LETTERS', forSeconds: 0 };

/** Notifications of a rule that wait. */
const waiting = async (ruleId: string) =>
  (await sql('select id from alert_notification where rule_id = $1 and next_at is not null', [ruleId])).length;

/** Inserts notifications that wait behind each other. */
const insertWaiting = (accountId: string, ruleId: string, count: number) =>
  sql(
    `insert into alert_notification (account_id, rule_id, content, next_at)
     select $1, $2, '{"type": "alert", "alerts": [], "others": 0}', jobferry_now() + interval '10 min'
       from generate_series(1, $3)`,
    [accountId, ruleId, count],
  );

/** Gives up what waits for the receiver of an account. */
async function giveUp({ accountId }: AlertAccount): Promise<void> {
  await sql('update alert_notification set attempts = 9 where account_id = $1 and next_at is not null', [accountId]);
  await due(accountId);
  await send();
}

describe('very many dead letters', () => {
  const rowsRead = async () => {
    const { pool, readingPool } = server().op.db;
    for (const each of [pool, readingPool]) await each.query('select pg_stat_force_next_flush()');
    const [row] = await sql(
      `select idx_tup_fetch + seq_tup_read as rows from pg_stat_user_tables where relname = 'dead_letter'`,
    );
    return Number(row?.rows);
  };

  it('are read once for all rules of an account, and each rule counts its own window', async () => {
    const one = await newAccount();
    const rule = { ...DEAD_LETTERS, webhookUrl: one.receiver.url };
    for (let n = 0; n < 8; n += 1) await createRule(one.graphql, { ...rule, threshold: 1000, windowSeconds: 3600 });
    const few = await createRule(one.graphql, { ...rule, threshold: 600 });
    const many = await createRule(one.graphql, { ...rule, threshold: 601 });
    await die(one.queueId, 1500);
    // Half an hour ago: in the windows of an hour only.
    const old = await sql('select job_id from dead_letter where queue_id = $1 order by id limit 900', [one.queueId]);
    const ids = old.map((row) => row.job_id);
    await sql(`update dead_letter set id = jobferry_id(jobferry_now() - interval '30 min') where job_id = any ($1)`, [
      ids,
    ]);
    const before = await rowsRead();
    await evaluate(one.accountId);
    expect((await rowsRead()) - before).toBeLessThan(2000);
    const { alerts } = await one.graphql.query('{ alerts(first: 100) { nodes { value cause rule { id } } } }');
    const of = (id: string) => alerts.nodes.filter((alert: { rule: { id: string } }) => alert.rule.id === id);
    expect(of(few.id)).toMatchObject([
      { value: 600, cause: expect.stringMatching(/^At least 600 jobs .* HTTP 500\.$/) },
    ]);
    expect(of(many.id)).toEqual([]);
    expect(alerts.nodes.filter(({ value }: { value: number }) => value === 1000)).toHaveLength(8);
  });

  it('dead letters in very many queues are read in parts, and each queue is found', async () => {
    const one = await newAccount();
    const rule = { ...DEAD_LETTERS, webhookUrl: one.receiver.url };
    await createRule(one.graphql, { ...rule, threshold: 1000 });
    const { id } = await createRule(one.graphql, { ...rule, threshold: 2 });
    await sql(
      `insert into queue
       select (jsonb_populate_record(q, jsonb_build_object('id', jobferry_id(), 'name', 'q' || n))).*
         from queue q, generate_series(1, 120) n where q.id = $1`,
      [one.queueId],
    );
    const queues = await sql(`select id from queue where account_id = $1 and name like 'q%'`, [one.accountId]);
    for (const queue of queues.slice(30)) await die(String(queue.id), 2);
    await evaluate(one.accountId);
    expect(await sql('select distinct queue_id from alert where rule_id = $1', [id])).toHaveLength(queues.length - 30);
  });
});

describe('an evaluation that fails', () => {
  it('is shown at its rule, counted, and leaves its alerts as they are', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    await createRule(one.graphql, { kind: 'HOLD', webhookUrl: one.receiver.url });
    await die(one.queueId);
    await fire(one);
    const counted = () => new Map(counts.alertEvaluations.entries().map(({ values: [of = ''], count }) => [of, count]));
    const before = counted();
    const client = await server().op.db.pool.connect();
    try {
      await client.query('begin; lock table dead_letter in access exclusive mode');
      await evaluate(one.accountId);
    } finally {
      await client.query('rollback');
      client.release();
    }
    const { alertRules } = await one.graphql.query('{ alertRules { kind problem firing { id } } }');
    expect(alertRules).toEqual([
      {
        kind: 'DEAD_LETTERS',
        problem: expect.stringContaining('the database took too long'),
        firing: [expect.anything()],
      },
      { kind: 'HOLD', problem: null, firing: [] },
    ]);
    const after = counted();
    expect(['ok', 'failed'].map((result) => (after.get(result) ?? 0) - (before.get(result) ?? 0))).toEqual([1, 1]);
  });
});

describe('a receiver that does not answer', () => {
  it('is told again of what still fires after a notification was given up', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    one.receiver.respondWith({ status: 500 });
    await die(one.queueId);
    await fire(one);
    await giveUp(one);
    expect(
      await sql('select from alert_notification where failed_at is not null and account_id = $1', [one.accountId]),
    ).toHaveLength(1);
    one.receiver.respondWith({ status: 200 });
    await evaluate(one.accountId);
    await send();
    const [first, , again] = received(one.receiver);
    expect(states(one.receiver)).toEqual([['firing'], ['firing'], ['firing']]);
    expect(again?.id, 'a new notification').not.toBe(first?.id);
    expect(again?.alerts[0]?.id, 'of the same alert').toBe(first?.alerts[0]?.id);
    await fire(one);
    await forget(one.queueId);
    await resolve(one);
    await resolve(one);
    expect(states(one.receiver).slice(3)).toEqual([['resolved']]);
  });

  it('is counted by result', async () => {
    const one = await newAccount();
    const before = new Map(counts.alertNotifications.entries().map(({ values: [result], count }) => [result, count]));
    const counted = () =>
      counts.alertNotifications
        .entries()
        .map(({ values: [result], count }) => [result, count - (before.get(result) ?? 0)]);
    await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    one.receiver.respondWith({ status: 500 });
    await die(one.queueId);
    await fire(one);
    await giveUp(one);
    one.receiver.respondWith({ status: 200 });
    await fire(one);
    expect(counted()).toEqual([
      ['sent', 1],
      ['failed', 1],
      ['given_up', 1],
    ]);
  });

  it('has a bounded number of notifications that wait, and misses no end when it is back', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    await die(one.queueId);
    await fire(one);
    await insertWaiting(one.accountId, id, ALERT_LIMITS.waitingOfRule);
    await forget(one.queueId);
    await resolve(one);
    await resolve(one);
    expect(await waiting(id)).toBe(ALERT_LIMITS.waitingOfRule);
    const { alerts } = await one.graphql.query('{ alerts { nodes { state } } }');
    expect(alerts.nodes, 'its end waits, too').toEqual([{ state: 'FIRING' }]);
    await sql('delete from alert_notification where rule_id = $1 and next_at is not null', [id]);
    await resolve(one);
    expect(states(one.receiver)).toEqual([['firing'], ['resolved']]);
  });

  it('is not told of what begins while too many notifications wait, but afterwards', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    await insertWaiting(one.accountId, id, ALERT_LIMITS.waitingOfRule);
    await die(one.queueId);
    await fire(one);
    expect(await waiting(id)).toBe(ALERT_LIMITS.waitingOfRule);
    await sql('delete from alert_notification where rule_id = $1', [id]);
    await fire(one);
    expect(states(one.receiver)).toEqual([['firing']]);
  });

  it('delays no first attempt for another receiver, however many such receivers there are', async () => {
    const accounts = await Promise.all([newAccount(), newAccount()]);
    const [silent, other] = accounts as [AlertAccount, AlertAccount];
    const insert = ({ accountId }: AlertAccount, rules: number, attempts: number, seconds: number) =>
      sql(
        `with made as (
           insert into alert_rule (account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
           select $1, 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 's' from generate_series(1, $2) returning id)
         insert into alert_notification (account_id, rule_id, content, attempts, next_at)
         select $1, id, '{}', $3, jobferry_now() - $4 * interval '1 s' from made`,
        [accountId, rules, attempts, seconds],
      );
    await insert(silent, 600, 1, 60);
    await insert(other, 1, 0, 0);
    const claimed = await claimNotifications(server().op.db, 1, [], 60_000);
    expect(claimed.map(({ accountId }) => accountId)).toEqual([other.accountId]);
    await sql('delete from alert_rule where account_id = any ($1)', [accounts.map(({ accountId }) => accountId)]);
  });

  it('gets no test while one waits', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { kind: 'USAGE', webhookUrl: one.receiver.url });
    const test = async () =>
      (await one.graphql.query(`mutation { testAlertRule(id: "${id}") { __typename } }`)).testAlertRule.__typename;
    // As if a minute had passed: the time of a notification is in its id.
    const later = () =>
      sql(
        `update alert_notification
            set id = jobferry_id(jobferry_now() - interval '1 min' * (select 1 + count(*) from alert_notification where rule_id = $1))
          where rule_id = $1 and id >= jobferry_first_id(jobferry_now() - interval '30 s')`,
        [id],
      );
    one.receiver.respondWith({ status: 500 });
    expect(await test()).toBe('TestAlertRulePayload');
    await send();
    await later();
    expect(await test(), 'the first waits').toBe('ConflictError');
    one.receiver.respondWith({ status: 200 });
    await due(one.accountId);
    await send();
    expect(await test()).toBe('TestAlertRulePayload');
    await send();
  });

  it('is tried at once when its address was corrected', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: 'http://10.0.0.1/' });
    await die(one.queueId);
    await fire(one);
    await one.graphql.query(
      `mutation U($url: String!) { updateAlertRule(id: "${id}", input: { webhookUrl: $url }) { __typename } }`,
      { url: one.receiver.url },
    );
    await send();
    expect(states(one.receiver)).toEqual([['firing']]);
  });
});

describe('a clock that was set back', () => {
  it('holds up no notification, and leaves the order of a rule as it was', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
    await die(one.queueId);
    await evaluate(one.accountId);
    await age(one.accountId, 3600);
    await evaluate(one.accountId);
    // It was made when the clock was two hours ahead.
    await sql(
      `with moved as (
         update alert_notification set id = jobferry_id(jobferry_now() + interval '2 h'), next_at = next_at + interval '2 h'
          where rule_id = $1 returning id)
       update alert set firing_notification_id = moved.id from moved where rule_id = $1`,
      [id],
    );
    await forget(one.queueId);
    await resolve(one);
    await resolve(one);
    await send();
    expect(states(one.receiver)).toEqual([['firing'], ['resolved']]);
  });

  it('does not make a worker of the future present', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'NO_WORKER', forSeconds: 0, webhookUrl: one.receiver.url });
    await sql(
      `insert into instance (id, role, version, capacity, last_seen_at)
       values ('ahead', 'worker', '1', 10, jobferry_now() + interval '1 h')`,
    );
    await fire(one);
    expect(states(one.receiver)).toEqual([['firing']]);
    await sql(`delete from instance where id = 'ahead'`);
  });
});

it('a suspended account gets what still fires when it is resumed', async () => {
  const one = await newAccount();
  await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
  await die(one.queueId);
  await evaluate(one.accountId);
  await evaluate(one.accountId);
  await sql(`update account set suspended_at = now(), suspended_by = 'x' where id = $1`, [one.accountId]);
  await send();
  expect(states(one.receiver)).toEqual([]);
  await sql('update account set suspended_at = null, suspended_by = null where id = $1', [one.accountId]);
  await fire(one);
  expect(states(one.receiver)).toEqual([['firing']]);
});

it('a secret that this process cannot read is tried again: another process may have the key', async () => {
  const one = await newAccount();
  const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
  const [rule] = await sql('select signing_secret from alert_rule where id = $1', [id]);
  await sql(`update alert_rule set signing_secret = 'enc:v1:00000000:AAAA' where id = $1`, [id]);
  await die(one.queueId);
  await fire(one);
  const { alertRules } = await one.graphql.query('{ alertRules { lastNotification { attempts error failedAt } } }');
  expect(alertRules).toEqual([{ lastNotification: { attempts: 1, error: 'secret_unreadable', failedAt: null } }]);
  await sql('update alert_rule set signing_secret = $2 where id = $1', [id, rule?.signing_secret]);
  await due(one.accountId);
  await send();
  expect(states(one.receiver)).toEqual([['firing']]);
});

it('ended alerts of a silenced rule are removed like others', async () => {
  const one = await newAccount();
  const { id } = await createRule(one.graphql, { ...DEAD_LETTERS, webhookUrl: one.receiver.url });
  await silence(one.graphql, id, new Date(Date.now() + 600_000));
  await sql(
    `insert into alert (account_id, rule_id, state, since, fired_at, resolved_at, value, cause, resolution)
     select $1, $2, 'resolved', now(), now(), now(), 1, 'c', 'condition_over' from generate_series(1, $3)`,
    [one.accountId, id, ALERT_LIMITS.kept + 700],
  );
  await die(one.queueId);
  await fire(one);
  await forget(one.queueId);
  await resolve(one);
  await resolve(one);
  const [kept] = await sql('select count(*)::integer as alerts from alert where account_id = $1', [one.accountId]);
  expect(kept).toEqual({ alerts: ALERT_LIMITS.kept });
  expect(received(one.receiver)).toEqual([]);
});
