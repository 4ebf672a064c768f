import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { applyAlertChanges } from '../../src/db/alerts/evaluation.ts';
import { claimNotifications, recordNotification } from '../../src/db/alerts/notifications.ts';
import { endAlertTurn, takeAlertTurn } from '../../src/db/alerts/turn.ts';
import { sweepByTime } from '../../src/db/retention/sweep.ts';
import { ALERT_LIMITS } from '../../src/domain/alert-rule.ts';
import {
  type AlertAccount,
  createQueue,
  openAlertAccounts,
  received,
  silence,
  states,
} from '../support/alert-accounts.ts';
import { createRule } from '../support/alerts.ts';
import { publishInSql } from '../support/publish-in-sql.ts';
import type { ReceivedRequest } from '../support/receiver.ts';

/**
 * Alerts from their rules to a real receiver. Each test has an account of its own,
 * and decides when rules are evaluated.
 */

const { server, newAccount, evaluate, send, age, fire, resolve, due, die, forget, sql } = openAlertAccounts();

describe('a rule of dead letters', () => {
  it('tells a receiver once that it fires, and once that it is resolved, signed and with the cause', async () => {
    const one = await newAccount();
    const { graphql, accountId, queueId, receiver } = one;
    const rule = await createRule(graphql, {
      kind: 'DEAD_LETTERS',
      queueId,
      threshold: 2,
      webhookUrl: `${receiver.url}/alerts`,
    });
    await die(queueId, 1);
    await fire(one);
    expect(received(receiver), 'below the threshold').toEqual([]);
    await die(queueId, 2);
    await evaluate(accountId);
    await send();
    expect(received(receiver), 'not for long enough').toEqual([]);
    await fire(one);
    await fire(one);
    const [body, ...others] = received(receiver);
    expect(others, 'told once').toEqual([]);
    expect(body).toMatchObject({
      type: 'alert',
      rule: { id: rule.id, kind: 'dead_letters', queue: 'orders', threshold: 2 },
      alerts: [
        {
          state: 'firing',
          queue: 'orders',
          value: 3,
          cause: '3 jobs of orders died in the last 15 min. Most frequent: attempts exhausted, HTTP 500.',
        },
      ],
      url: 'http://host/alerts',
    });
    const { raw, headers, path } = receiver.requests[0] as ReceivedRequest;
    expect(path).toBe('/alerts');
    expect(headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', rule.signingSecret).update(raw).digest('hex')}`,
    );

    await forget(queueId);
    await resolve(one);
    await resolve(one);
    expect(states(receiver)).toEqual([['firing'], ['resolved']]);
    expect(new Set(received(receiver).map((each) => each.alerts[0]?.id)).size, 'the same alert').toBe(1);
    const { alerts: list, alertRules } = await graphql.query(
      `{ alerts { nodes { state cause resolution queueName firedAt resolvedAt firingNotificationId resolvedNotificationId } }
         alertRules { kind threshold windowSeconds queue { name } problem evaluatedAt firing { id }
                      lastNotification { id sentAt attempts webhookStatusCode error } } }`,
    );
    expect(list.nodes).toEqual([
      {
        state: 'RESOLVED',
        resolution: 'CONDITION_OVER',
        queueName: 'orders',
        cause: body?.alerts[0]?.cause,
        firedAt: expect.any(String),
        resolvedAt: expect.any(String),
        firingNotificationId: received(receiver)[0]?.id,
        resolvedNotificationId: received(receiver)[1]?.id,
      },
    ]);
    expect(alertRules).toEqual([
      {
        kind: 'DEAD_LETTERS',
        threshold: 2,
        windowSeconds: 900,
        queue: { name: 'orders' },
        problem: null,
        firing: [],
        evaluatedAt: expect.any(String),
        lastNotification: {
          id: received(receiver)[1]?.id,
          sentAt: expect.any(String),
          attempts: 1,
          webhookStatusCode: 200,
          error: null,
        },
      },
    ]);
  });

  it('has an alert for each queue, and tells those of a round together', async () => {
    const one = await newAccount();
    const { graphql, queueId, receiver } = one;
    const second = await createQueue(graphql, 'mails');
    await createRule(graphql, { kind: 'DEAD_LETTERS', webhookUrl: receiver.url });
    await die(queueId);
    await die(second);
    await fire(one);
    expect(received(receiver).map((body) => body.alerts.map(({ queue }) => queue).sort())).toEqual([
      ['mails', 'orders'],
    ]);
    await forget(second);
    await resolve(one);
    expect(states(receiver)).toEqual([['firing', 'firing'], ['resolved']]);
  });

  it('is written for Slack', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url, format: 'SLACK' });
    await die(one.queueId);
    await fire(one);
    expect(received(one.receiver)).toEqual([
      {
        text: expect.stringMatching(
          /^\*FIRING\* 1 job of orders died .*\n<http:\/\/host\/alerts\|Alerts in Jobferry>$/,
        ),
      },
    ]);
  });

  it('is silent while it is silenced, and tells afterwards what still fires', async () => {
    const one = await newAccount();
    const { graphql, queueId, receiver } = one;
    const { id } = await createRule(graphql, { kind: 'DEAD_LETTERS', webhookUrl: receiver.url });
    await silence(graphql, id, new Date(Date.now() + 600_000));
    await die(queueId);
    await fire(one);
    const { alerts: list, alertRules } = await graphql.query(
      '{ alerts(state: FIRING) { nodes { firingNotificationId } } alertRules { silencedBy silencedUntil firing { cause } } }',
    );
    expect(list.nodes).toEqual([{ firingNotificationId: null }]);
    expect(alertRules).toMatchObject([{ silencedBy: expect.any(String), firing: [{}] }]);
    expect(received(receiver)).toEqual([]);
    await silence(graphql, id, null);
    await fire(one);
    expect(states(receiver)).toEqual([['firing']]);
    await silence(graphql, id, new Date(Date.now() + 600_000));
    await forget(queueId);
    await resolve(one);
    expect(states(receiver), 'the end of what the receiver knows').toEqual([['firing'], ['resolved']]);
  });

  it('comes back as the same alert if its condition does so soon', async () => {
    const one = await newAccount();
    const { graphql, accountId, queueId, receiver } = one;
    await createRule(graphql, { kind: 'DEAD_LETTERS', webhookUrl: receiver.url, forSeconds: 0 });
    await die(queueId);
    await fire(one);
    await forget(queueId);
    await evaluate(accountId);
    await die(queueId);
    await resolve(one);
    await resolve(one);
    expect(states(receiver)).toEqual([['firing']]);
  });

  it('ends with its queue, and does nothing from then on', async () => {
    const one = await newAccount();
    const { graphql, accountId, queueId, receiver } = one;
    await createRule(graphql, { kind: 'DEAD_LETTERS', queueId, webhookUrl: receiver.url });
    await die(queueId);
    await fire(one);
    await graphql.query(`mutation { deleteQueue(id: "${queueId}") { __typename } }`);
    await evaluate(accountId);
    await send();
    await fire(one);
    expect(states(receiver)).toEqual([['firing'], ['resolved']]);
    const { alerts: list } = await graphql.query('{ alerts { nodes { resolution } } }');
    expect(list.nodes).toEqual([{ resolution: 'QUEUE_DELETED' }]);
    await sql('delete from job where queue_id = $1', [queueId]);
    await sql('delete from queue where id = $1', [queueId]);
    expect((await graphql.query('{ alertRules { id } }')).alertRules, 'removed with the row of the queue').toEqual([]);
  });

  it('rests while its account is suspended', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url });
    await die(one.queueId);
    await sql(`update account set suspended_at = now(), suspended_by = 'x' where id = $1`, [one.accountId]);
    await fire(one);
    expect(await sql('select from alert where account_id = $1', [one.accountId])).toEqual([]);
    await sql('update account set suspended_at = null, suspended_by = null where id = $1', [one.accountId]);
    await fire(one);
    expect(states(one.receiver)).toEqual([['firing']]);
  });
});

/** Statistics of the last five minutes of a queue. */
async function statistics(queueId: string, columns: Record<string, number | string>): Promise<void> {
  const names = Object.keys(columns);
  await sql(
    `insert into queue_stats (queue_id, bucket${names.map((name) => `, ${name}`).join('')})
     values ($1, jobferry_bucket(jobferry_now())${names.map((_, n) => `, $${n + 2}`).join('')})`,
    [queueId, ...Object.values(columns)],
  );
  await sql(
    `insert into follower (name, position) values ('stats', (extract(epoch from jobferry_now()) * 1000)::bigint::text)
     on conflict (name) do update set position = excluded.position`,
  );
}

describe('each kind of rule', () => {
  const causes = async (one: AlertAccount) => {
    await evaluate(one.accountId);
    const { alerts: list } = await one.graphql.query('{ alerts { nodes { cause value } } }');
    return list.nodes.map(({ cause }: { cause: string }) => cause);
  };

  it('finds a job that is due for too long, unless the queue is paused or held', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'OLDEST_DUE', threshold: 60, webhookUrl: one.receiver.url });
    await sql(`select ${publishInSql(one.queueId, 1)}`);
    expect(await causes(one)).toEqual([]);
    await sql(`update job set scheduled_for = scheduled_for - interval '150 s' where queue_id = $1`, [one.queueId]);
    await sql('update queue set paused_at = now(), paused_by = $2 where id = $1', [one.queueId, 'x']);
    expect(await causes(one)).toEqual([]);
    await sql('update queue set paused_at = null, paused_by = null where id = $1', [one.queueId]);
    expect(await causes(one)).toEqual([
      'The oldest due job of orders has waited for 2 min; the limit is 60 s. 0 of 5 slots are in use.',
    ]);
  });

  it('finds a breaker that is open', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'BREAKER', threshold: 60, webhookUrl: one.receiver.url });
    const openFor = (seconds: number) =>
      sql(
        `update queue set hold_until = jobferry_now() + interval '1 h', breaker_failed = 12,
                          breaker_opened_at = jobferry_now() - $2 * interval '1 s' where id = $1`,
        [one.queueId, seconds],
      );
    await openFor(30);
    expect(await causes(one)).toEqual([]);
    await openFor(90);
    expect(await causes(one)).toMatchObject([
      expect.stringMatching(
        /^The breaker of orders has been open for 90 s.* \(failed answers in a row: 12\)\..* until a job is published/,
      ),
    ]);
  });

  it.each([
    ['no job waits', null, /^The breaker of orders .*No job waits that could probe it/],
    ['a job waits', `select ${publishInSql('$1', 1)}`, /one job at a time probes it/],
    ['a job probes', `update queue set probe_job_id = 'x' where id = $1`, /one job at a time probes it/],
    ['the queue is paused', `update queue set paused_at = now(), paused_by = 'x' where id = $1`, /no job probes it/],
  ])('says of an open breaker what probes the receiver, when %s', async (_when, statement, cause) => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'BREAKER', threshold: 60, webhookUrl: one.receiver.url });
    await sql(
      `update queue set hold_until = jobferry_now() - interval '1 s', breaker_failed = 12,
                        breaker_opened_at = jobferry_now() - interval '90 s' where id = $1`,
      [one.queueId],
    );
    if (statement !== null) await sql(statement.replace(`'$1'`, '$1'), [one.queueId]);
    expect(await causes(one)).toMatchObject([expect.stringMatching(cause)]);
  });

  it('finds a hold that lasts', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'HOLD', threshold: 60, webhookUrl: one.receiver.url });
    const hold = (seconds: number) =>
      sql(
        `update queue set hold_until = jobferry_now() + interval '1 h', hold_since = jobferry_now() - $2 * interval '1 s'
          where id = $1`,
        [one.queueId, seconds],
      );
    await hold(30);
    expect(await causes(one)).toEqual([]);
    await hold(90);
    expect(await causes(one)).toMatchObject([expect.stringMatching(/^orders has been held for 90 s/)]);
  });

  it('finds no hold where a breaker is open', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'HOLD', threshold: 60, webhookUrl: one.receiver.url });
    await sql(
      `update queue set hold_until = jobferry_now() + interval '1 h', hold_since = jobferry_now() - interval '90 s',
                        breaker_opened_at = jobferry_now() - interval '90 s' where id = $1`,
      [one.queueId],
    );
    expect(await causes(one)).toEqual([]);
  });

  it.each<[string, object, Record<string, number | string>, Record<string, number | string>, string]>([
    [
      'FAILURE_SHARE',
      { threshold: 50 },
      { success: 11, failed: 6, nacked: 4 },
      { success: 10, failed: 6, nacked: 4 },
      '50 % of 20 attempts',
    ],
    ['FAILURE_SHARE', { threshold: 50 }, { failed: 9 }, { failed: 10 }, '100 % of 10 attempts'],
    // Failed probes of a breaker put their jobs off, and the receiver answered with a failure or not at all.
    [
      'FAILURE_SHARE',
      { threshold: 50 },
      { failed: 3, deferred: 7, answered_5xx: 3, backpressure: 7 },
      { failed: 3, deferred: 7, answered_5xx: 4, unanswered: 5, backpressure: 1 },
      '90 % of 10 attempts',
    ],
    ['SIGNATURE_REJECTED', {}, { unauthorized: 2 }, { unauthorized: 3, answered_2xx: 5 }, '38 % of 8 answers'],
    // Elements 0 to 7 and more: 8 counts 4 ms, and 60 counts 32.8 s.
    [
      'SLOW_RECEIVER',
      { threshold: 5 },
      { durations: `{${[...Array(8).fill(0), 100, ...Array(51).fill(0), 4].join(',')}}` },
      { durations: `{${[...Array(8).fill(0), 90, ...Array(51).fill(0), 10].join(',')}}` },
      '10 % of 100 deliveries of orders of the last 15 min took longer than 5 s',
    ],
  ])('finds %s %j in the statistics', async (kind, input, quiet, loud, cause) => {
    const one = await newAccount();
    await createRule(one.graphql, { kind, webhookUrl: one.receiver.url, ...input });
    await statistics(one.queueId, quiet);
    expect(await causes(one)).toEqual([]);
    await sql('delete from queue_stats where queue_id = $1', [one.queueId]);
    await statistics(one.queueId, loud);
    expect(await causes(one)).toEqual([expect.stringContaining(cause)]);
  });

  it('leaves alerts as they are while the statistics are far behind, and says so', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'FAILURE_SHARE', webhookUrl: one.receiver.url });
    await statistics(one.queueId, { failed: 20 });
    await fire(one);
    await sql('delete from queue_stats where queue_id = $1', [one.queueId]);
    await sql(`update follower set position = ((extract(epoch from jobferry_now()) - 600) * 1000)::bigint::text
                where name = 'stats'`);
    await resolve(one);
    const { alertRules } = await one.graphql.query('{ alertRules { problem firing { id } } }');
    expect(alertRules).toMatchObject([
      { problem: expect.stringContaining('the statistics are 10 min behind'), firing: [{}] },
    ]);
  });

  it('finds that no worker runs', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'NO_WORKER', webhookUrl: one.receiver.url });
    await sql(`insert into instance (id, role, version, capacity) values ('w', 'worker', '1', 10)`);
    expect(await causes(one)).toEqual([]);
    await sql(`update instance set last_seen_at = jobferry_now() - interval '31 s' where id = 'w'`);
    expect(await causes(one)).toEqual([expect.stringContaining('No worker has been seen')]);
    await fire(one);
    expect(received(one.receiver)).toMatchObject([{ rule: { kind: 'no_worker', threshold: null, queue: null } }]);
    await sql(`delete from instance where id = 'w'`);
  });

  it('finds what the plan has left', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'USAGE', threshold: 80, webhookUrl: one.receiver.url });
    const use = (attempts: number) =>
      sql(
        `insert into usage (account_id, month, attempts) values ($1, jobferry_month(jobferry_now()), $2)
         on conflict (account_id, month, part) do update set attempts = excluded.attempts`,
        [one.accountId, attempts],
      );
    await use(30_000);
    expect(await causes(one), 'a plan without a limit').toEqual([]);
    await sql(`update account set plan = 'free' where id = $1`, [one.accountId]);
    await use(23_999);
    expect(await causes(one)).toEqual([]);
    await use(24_000);
    expect(await causes(one)).toEqual(['24000 of the plan’s 30000 delivery attempts of this month are used.']);
  });
});

describe('a notification', () => {
  it('is tried again with the same body, in the order of the rule, until the receiver takes it', async () => {
    const one = await newAccount();
    const { graphql, queueId, receiver } = one;
    await createRule(graphql, { kind: 'DEAD_LETTERS', webhookUrl: receiver.url });
    receiver.respondWith({ status: 500 });
    await die(queueId);
    await fire(one);
    await forget(queueId);
    await resolve(one);
    expect(states(receiver), 'the second waits behind the first').toEqual([['firing']]);
    const { alertRules } = await graphql.query(
      '{ alertRules { lastNotification { attempts } firing { id } } alerts { nodes { firingNotificationId } } }',
    );
    expect(alertRules).toMatchObject([{ lastNotification: { attempts: 0 } }]);
    receiver.respondWith({ status: 200 });
    await due(one.accountId);
    await send();
    await send();
    expect(states(receiver)).toEqual([['firing'], ['firing'], ['resolved']]);
    expect(receiver.requests[0]?.raw.equals(receiver.requests[1]?.raw ?? Buffer.alloc(0)), 'the same bytes').toBe(true);
  });

  it('is given up after ten attempts, and the next one is sent', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: 'http://10.0.0.1/' });
    await die(one.queueId);
    await fire(one);
    for (let attempt = 1; attempt < 10; attempt += 1) {
      await due(one.accountId);
      await send();
    }
    const { alertRules } = await one.graphql.query(
      '{ alertRules { lastNotification { attempts error failedAt nextAttemptAt } } }',
    );
    expect(alertRules).toEqual([
      {
        lastNotification: {
          attempts: 10,
          failedAt: expect.any(String),
          nextAttemptAt: null,
          // Alerts obey the address policy of all webhooks.
          error: 'address_not_allowed',
        },
      },
    ]);
  });

  it('is claimed by one of two processes, and again when the first is gone', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url });
    await die(one.queueId);
    await evaluate(one.accountId);
    await age(one.accountId, 3600);
    await evaluate(one.accountId);
    const { db } = server().op;
    const claim = () => claimNotifications(db, 10, [], 60_000);
    const claimed = (await Promise.all([claim(), claim()])).flat();
    expect(claimed.map(({ accountId, attempts }) => [accountId, attempts])).toEqual([[one.accountId, 1]]);
    await sql('update alert_notification set next_at = jobferry_now() where id = $1', [claimed[0]?.id]);
    expect(await claim()).toMatchObject([{ id: claimed[0]?.id, attempts: 2 }]);
    // The first process was frozen, and records its outcome now: it is that of another attempt.
    const outcome = { isSent: true, retryMs: null, statusCode: 200, error: null };
    await recordNotification(db, { id: claimed[0]?.id ?? '', attempts: 1 }, outcome);
    const state = await sql('select sent_at from alert_notification where id = $1', [claimed[0]?.id]);
    expect(state).toEqual([{ sent_at: null }]);
  });

  it('the notifications of one account fill only a part of the places', async () => {
    const one = await newAccount();
    const other = await newAccount();
    const insert = (fixture: AlertAccount, rules: number) =>
      sql(
        `with made as (
           insert into alert_rule (account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
           select $1, 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 's' from generate_series(1, $2) returning id)
         insert into alert_notification (account_id, rule_id, content) select $1, id, '{}' from made`,
        [fixture.accountId, rules],
      );
    await insert(one, 20);
    await insert(other, 1);
    const claimed = await claimNotifications(server().op.db, 10, [], 60_000);
    const of = ({ accountId }: AlertAccount) => claimed.filter((each) => each.accountId === accountId).length;
    expect([of(one), of(other)]).toEqual([4, 1]);
    const later = async (sending: number) => {
      const next = await claimNotifications(server().op.db, 10, Array(sending).fill(one.accountId), 60_000);
      return next.filter(({ accountId }) => accountId === one.accountId).length;
    };
    expect([await later(4), await later(3), await later(2)]).toEqual([0, 1, 2]);
    await sql('delete from alert_rule where account_id = any ($1)', [[one.accountId, other.accountId]]);
  });

  it('can be tried by a person, once in ten seconds', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { kind: 'NO_WORKER', webhookUrl: one.receiver.url });
    const test = async () =>
      (
        await one.graphql.query(
          `mutation { testAlertRule(id: "${id}") { __typename ... on TestAlertRulePayload { notification { id } } } }`,
        )
      ).testAlertRule;
    const { notification } = await test();
    await send();
    expect(received(one.receiver)).toMatchObject([{ id: notification.id, type: 'test', alerts: [] }]);
    expect(await test()).toMatchObject({ __typename: 'ConflictError' });
  });
});

describe('the process that evaluates', () => {
  it('is one at a time, until it ends or is silent for thirty seconds', async () => {
    const { db } = server().op;
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'NO_WORKER', webhookUrl: one.receiver.url });
    await endAlertTurn(db, 'test');
    expect(await takeAlertTurn(db, 'first', 'a')).toBe('a');
    expect(await takeAlertTurn(db, 'second', null)).toBeNull();
    await sql(`update follower set updated_at = clock_timestamp() - interval '31 s' where name = 'alerts'`);
    expect(await takeAlertTurn(db, 'second', null), 'continues where the other was').toBe('a');
    expect(await takeAlertTurn(db, 'first', null)).toBeNull();
    const changes = { rules: [], begun: [], updated: [], forgotten: [], notifications: [] };
    const account = { accountId: one.accountId, nowMs: Date.now() };
    expect(await applyAlertChanges(db, 'first', account, changes), 'what the silent one has found').toBe(false);
    expect(await applyAlertChanges(db, 'second', account, changes)).toBe(true);
    await endAlertTurn(db, 'first');
    expect(await takeAlertTurn(db, 'third', null)).toBeNull();
    await endAlertTurn(db, 'second');
    expect(await takeAlertTurn(db, 'third', '')).toBe('');
    await endAlertTurn(db, 'third');
  });
});

describe('the limits', () => {
  it('alert rules have limits: one for rules of all queues, and one for all rules', async () => {
    const { graphql, queueId, receiver } = await newAccount();
    const rule = { kind: 'HOLD', webhookUrl: receiver.url };
    for (let n = 0; n < ALERT_LIMITS.rulesOfAllQueues; n += 1) await createRule(graphql, rule);
    await expect(createRule(graphql, rule)).rejects.toThrow('10 rules for all queues');
    for (let n = ALERT_LIMITS.rulesOfAllQueues; n < ALERT_LIMITS.rules; n += 1) {
      await createRule(graphql, { ...rule, queueId });
    }
    await expect(createRule(graphql, { ...rule, queueId })).rejects.toThrow('50 alert rules');
  });

  it('an account keeps a limited number of alerts, and old ones are swept', async () => {
    const one = await newAccount();
    const { id } = await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url });
    await sql(
      `insert into alert (account_id, rule_id, state, since, fired_at, resolved_at, value, cause, resolution)
       select $1, $2, 'resolved', now(), now(), now(), 1, 'c', 'condition_over' from generate_series(1, $3)`,
      [one.accountId, id, ALERT_LIMITS.kept + 5],
    );
    await die(one.queueId);
    await fire(one);
    const count = async () =>
      (await sql(`select count(*)::integer as n from alert where account_id = $1`, [one.accountId]))[0]?.n;
    expect(await count()).toBe(ALERT_LIMITS.kept + 1);
    const later = Date.now() + 31 * 86_400_000;
    const periods = { retentionMs: 1, lifetimeMs: 1 };
    while ((await sweepByTime(server().op.db, 'alerts', later, periods)) > 0) {
      // Batch by batch.
    }
    expect(await count(), 'the one that fires stays').toBe(1);
  });
});

describe('over the wire', () => {
  it('an account neither sees nor changes the rules of another', async () => {
    const [one, other] = [await newAccount(), await newAccount()];
    const { id } = await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url });
    await die(one.queueId);
    await fire(one);
    const read = await other.graphql.query(
      `{ alertRules { id } alerts(ruleId: "${id}") { nodes { id } }
         alertNotification(id: "${received(one.receiver)[0]?.id}") { id } }`,
    );
    expect(read).toEqual({ alertRules: [], alerts: { nodes: [] }, alertNotification: null });
    for (const mutation of [
      `updateAlertRule(id: "${id}", input: { threshold: 5 })`,
      `deleteAlertRule(id: "${id}")`,
      `rotateAlertRuleSecret(id: "${id}")`,
      `silenceAlertRule(id: "${id}")`,
      `testAlertRule(id: "${id}")`,
    ]) {
      const answer = await other.graphql.query(`mutation { done: ${mutation} { __typename } }`);
      expect(answer.done, mutation).toEqual({ __typename: 'NotFoundError' });
    }
    await expect(
      createRule(other.graphql, { kind: 'HOLD', queueId: one.queueId, webhookUrl: one.receiver.url }),
    ).rejects.toThrow('queue not found');
  });

  it('the secret of a rule is replaced, also for what waits', async () => {
    const one = await newAccount();
    const { id, signingSecret } = await createRule(one.graphql, { kind: 'DEAD_LETTERS', webhookUrl: one.receiver.url });
    one.receiver.respondWith({ status: 401 });
    await die(one.queueId);
    await fire(one);
    const { rotateAlertRuleSecret: rotated } = await one.graphql.query(
      `mutation { rotateAlertRuleSecret(id: "${id}") {
         ... on RotateAlertRuleSecretPayload { signingSecret rule { id } } } }`,
    );
    expect(rotated).toEqual({ rule: { id }, signingSecret: expect.stringMatching(/^whsec_[0-9a-f]{64}$/) });
    await due(one.accountId);
    await send();
    const signatures = one.receiver.requests.map(({ headers }) => headers['x-service-signature']);
    expect(signatures).toEqual(
      [signingSecret, rotated.signingSecret].map(
        (secret) =>
          `sha256=${createHmac('sha256', secret)
            .update(one.receiver.requests[0]?.raw ?? '')
            .digest('hex')}`,
      ),
    );
    const [stored] = await sql('select signing_secret from alert_rule where id = $1', [id]);
    expect(stored).toEqual({ signing_secret: rotated.signingSecret });
    const entries = await server().op.auditOf(id);
    expect(entries.map(({ action }) => action)).toEqual(['alert_rule.create', 'alert_rule.rotate_secret']);
    expect(JSON.stringify(entries)).not.toContain('whsec_');
  });

  it('a rule is changed, silenced and deleted, and the audit log has each change without the secret', async () => {
    const one = await newAccount();
    const { graphql } = one;
    const { id, signingSecret } = await createRule(graphql, { kind: 'HOLD', webhookUrl: one.receiver.url });
    const { updateAlertRule } = await graphql.query(
      `mutation { updateAlertRule(id: "${id}", input: { threshold: 90, forSeconds: 0 }) {
         ... on AlertRulePayload { rule { threshold forSeconds format webhookUrl } } } }`,
    );
    expect(updateAlertRule.rule).toEqual({
      threshold: 90,
      forSeconds: 0,
      format: 'JOBFERRY',
      webhookUrl: `${one.receiver.url}/`,
    });
    const { refused } = await graphql.query(
      `mutation { refused: updateAlertRule(id: "${id}", input: { windowSeconds: 300 }) {
         ... on ValidationError { fieldErrors { field } } } }`,
    );
    expect(refused).toEqual({ fieldErrors: [{ field: 'windowSeconds' }] });
    await silence(graphql, id, new Date(Date.now() + 60_000));
    await graphql.query(`mutation { deleteAlertRule(id: "${id}") { __typename } }`);
    const entries = await server().op.auditOf(id);
    expect(entries.map(({ action }) => action)).toEqual(
      ['create', 'update', 'silence', 'delete'].map((what) => `alert_rule.${what}`),
    );
    expect(entries[1]).toMatchObject({ before: { threshold: 600 }, after: { threshold: 90 } });
    expect(JSON.stringify(entries)).not.toContain(signingSecret);
  });
});
