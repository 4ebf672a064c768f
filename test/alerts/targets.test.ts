import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { NOTIFICATION_TIMEOUT_MS } from '../../src/alerts/index.ts';
import { Mailer } from '../../src/alerts/mailer.ts';
import { type AlertAccount, openAlertAccounts } from '../support/alert-accounts.ts';
import { createRule, openAlerts } from '../support/alerts.ts';
import type { GraphQL } from '../support/graphql.ts';
import { openReceiver } from '../support/service.ts';
import { openSmtpServer } from '../support/smtp-server.ts';
import { waitFor } from '../support/wait-for.ts';

/** Rules with other targets than webhooks, from GraphQL to real servers. */

const { server, newAccount, evaluate, age, die, forget, due, sql } = openAlertAccounts({
  sendsMail: true,
  encryptionKeys: [randomBytes(32)],
});

const KEY = 'R0123456789abcdefR0123456789abcd';
const TEST_NOTIFICATIONS = `
  insert into alert_notification (account_id, rule_id, content)
  select account_id, id, '{"type":"test","rule":{"id":"1","kind":"no_worker","queue":null},"alerts":[],"others":0}' from alert_rule`;
const FROM = { name: 'Jobferry', address: 'alerts@example.com' };

/** Evaluates until what holds, or no longer holds, is told. */
async function tell({ accountId }: AlertAccount, { send }: Pick<ReturnType<typeof openAlerts>, 'send'>): Promise<void> {
  await evaluate(accountId);
  await age(accountId, 3600);
  await evaluate(accountId);
  await send();
}

const RULES = `{ alertRules { id webhookUrl format target {
  __typename ... on AlertWebhook { url format } ... on AlertEmail { to } ... on AlertPagerDuty { routingKey severity } }
  lastNotification { attempts sentAt failedAt webhookStatusCode error } } }`;
const ruleOf = async (graphql: GraphQL) => (await graphql.query(RULES)).alertRules[0];

const CHANGE = `mutation U($id: ID!, $input: UpdateAlertRuleInput!) { updateAlertRule(id: $id, input: $input) {
  ... on AlertRulePayload { rule { id } } ... on ValidationError { fieldErrors { field messages } } } }`;
const change = async (graphql: GraphQL, id: string, input: object) =>
  (await graphql.query(CHANGE, { id, input })).updateAlertRule;

async function openMail(timeoutMs = NOTIFICATION_TIMEOUT_MS, given?: Awaited<ReturnType<typeof openSmtpServer>>) {
  const smtp = given ?? (await openSmtpServer());
  const mailer = new Mailer(
    { host: '127.0.0.1', port: smtp.port, isSecure: false, login: null, from: FROM },
    timeoutMs,
  );
  return { smtp, ...openAlerts(server().op.db, { mailer }) };
}

describe('a rule with an e-mail target', () => {
  it('mails that its alert fires, and that it is over, in one thread', async () => {
    const one = await newAccount();
    const { smtp, send } = await openMail();
    const made = await createRule(one.graphql, {
      kind: 'DEAD_LETTERS',
      target: { email: { to: ['ops@example.org'] } },
    });
    expect(made.signingSecret, 'nothing is signed').toBe('');
    await die(one.queueId);
    await tell(one, { send });
    await forget(one.queueId);
    await tell(one, { send });
    const [fired, over, ...others] = smtp.mails;
    expect(others).toEqual([]);
    expect(fired).toMatchObject({
      to: ['ops@example.org'],
      headers: { subject: '[Jobferry] Firing: jobs die in orders' },
    });
    expect(fired?.text).toMatch(/^FIRING: 1 job of orders died in the last 15 min\./);
    expect(fired?.text).toContain('http://host/queues/orders');
    expect(fired?.text).toContain('What to do: Look at the causes of the dead letters');
    expect(fired?.text).toContain('Alerts in Jobferry: http://host/alerts');
    expect(over?.headers.subject).toBe('[Jobferry] Resolved: jobs die in orders');
    expect(over?.headers.references, 'grouped').toBe(fired?.headers.references);
    expect(over?.headers['in-reply-to']).toBe(fired?.headers['in-reply-to']);
    expect(over?.headers['message-id']).not.toBe(fired?.headers['message-id']);
    expect(await ruleOf(one.graphql)).toMatchObject({
      webhookUrl: 'mailto:ops@example.org',
      format: 'JOBFERRY',
      target: { __typename: 'AlertEmail', to: ['ops@example.org'] },
      lastNotification: { attempts: 1, sentAt: expect.any(String), webhookStatusCode: null, error: null },
    });
  });

  it('is tried again with the same id after a server that refuses or never answers', async () => {
    const one = await newAccount();
    const { smtp, send } = await openMail();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', target: { email: { to: ['ops@example.org'] } } });
    smtp.state.answers = (command) => (command === '(end of data)' ? '451 later' : undefined);
    await die(one.queueId);
    await tell(one, { send });
    const refused = await ruleOf(one.graphql);
    expect(refused.lastNotification).toMatchObject({ attempts: 1, sentAt: null, failedAt: null, error: 'SMTP 451' });
    smtp.state.answers = () => null;
    await due(one.accountId);
    await (await openMail(500, smtp)).send();
    expect((await ruleOf(one.graphql)).lastNotification).toMatchObject({ attempts: 2, error: 'timeout' });
    smtp.state.answers = () => undefined;
    await due(one.accountId);
    await send();
    expect((await ruleOf(one.graphql)).lastNotification).toMatchObject({ attempts: 3, sentAt: expect.any(String) });
    expect(new Set(smtp.mails.map(({ headers }) => headers['message-id'])).size).toBe(1);
  });

  it('delays no webhook of its account while the server is silent, however many mails wait', async () => {
    const one = await newAccount();
    const { smtp, notifier } = await openMail(60_000);
    smtp.state.answers = () => null;
    const target = { email: { to: ['ops@example.org'] } };
    for (let n = 0; n < 6; n += 1) await createRule(one.graphql, { kind: 'NO_WORKER', target });
    await sql(`${TEST_NOTIFICATIONS} where account_id = $1`, [one.accountId]);
    await notifier.round();
    await waitFor(() => smtp.state.connections === 2, { message: 'two mails are on their way' });
    const { id } = await createRule(one.graphql, { kind: 'NO_WORKER', webhookUrl: one.receiver.url });
    await sql(`${TEST_NOTIFICATIONS} where id = $1`, [id]);
    const isSent = async () => {
      await notifier.round();
      return one.receiver.requests.length === 1;
    };
    await waitFor(isSent, { message: 'the webhook has its notification' });
    expect(smtp.state.connections).toBe(2);
    smtp.close();
    await notifier.idle();
    await sql('delete from alert_rule where account_id = $1', [one.accountId]);
  });

  it('is put off without an attempt when its account has sent enough', async () => {
    const one = await newAccount();
    const { smtp, send } = await openMail();
    const to = Array.from({ length: 5 }, (_, n) => `ops${n}@example.org`);
    await createRule(one.graphql, { kind: 'NO_WORKER', target: { email: { to } } });
    await sql(`${TEST_NOTIFICATIONS}, generate_series(1, 13) where account_id = $1`, [one.accountId]);
    for (let round = 0; round < 13; round += 1) await send();
    expect(smtp.mails).toHaveLength(12);
    expect((await ruleOf(one.graphql)).lastNotification).toMatchObject({ attempts: 0, error: 'too_many_mails' });
  });

  it('waits in a process without an SMTP server, and names what is missing', async () => {
    const one = await newAccount();
    await createRule(one.graphql, { kind: 'DEAD_LETTERS', target: { email: { to: ['ops@example.org'] } } });
    await die(one.queueId);
    await tell(one, openAlerts(server().op.db));
    expect((await ruleOf(one.graphql)).lastNotification).toMatchObject({ attempts: 1, error: 'smtp_not_set' });
  });

  it.each<[string, object, string, string]>([
    ['no recipient', { email: { to: [] } }, 'target.email.to', 'must have between 1 and 5 addresses'],
    ['six recipients', { email: { to: Array(6).fill('a@b.c') } }, 'target.email.to', 'must have between 1 and 5'],
    [
      'a line break',
      { email: { to: ['a@b.c', 'a@b.c\r\nBcc: x@y.z'] } },
      'target.email.to',
      'address 2 is not of the form',
    ],
    ['a list as an address', { email: { to: ['a@b.c,x@y.z'] } }, 'target.email.to', 'address 1 is not of the form'],
    ['a name', { email: { to: ['Ops <a@b.c>'] } }, 'target.email.to', 'address 1 is not of the form'],
    [
      'an address without an end',
      { email: { to: [`a@${'a'.repeat(60)}.${'b-'.repeat(60)}`] } },
      'target.email.to',
      'address 1',
    ],
    [
      'a key with a line break',
      { pagerDuty: { routingKey: `${KEY}\n` } },
      'target.pagerDuty.routingKey',
      'must be 16 to 64',
    ],
    ['no key', { pagerDuty: {} }, 'target.pagerDuty.routingKey', 'must be given'],
    [
      'another protocol',
      { webhook: { url: 'mailto:a@b.c' } },
      'target.webhook.url',
      'must be an absolute http or https URL',
    ],
  ])('refuses %s', async (_name, target, field, message) => {
    const { graphql } = await newAccount();
    const { createAlertRule: refused } = await graphql.query(
      `mutation C($input: CreateAlertRuleInput!) { createAlertRule(input: $input) {
        __typename ... on ValidationError { fieldErrors { field messages } } } }`,
      { input: { kind: 'NO_WORKER', target } },
    );
    expect(refused).toEqual({
      __typename: 'ValidationError',
      fieldErrors: [{ field, messages: [expect.stringContaining(message)] }],
    });
  });
});

describe('a rule with a target in PagerDuty', () => {
  async function openPagerDuty(status = 202) {
    const service = await openReceiver({ status });
    const events = () => service.requests.map((request) => request.json() as unknown as Record<string, unknown>);
    return { service, events, ...openAlerts(server().op.db, { pagerDutyUrl: `${service.url}/v2/enqueue` }) };
  }

  it('triggers an incident for each alert and resolves it, with the key that is stored encrypted', async () => {
    const one = await newAccount();
    const { service, events, send } = await openPagerDuty();
    const target = { pagerDuty: { routingKey: KEY, severity: 'WARNING' } };
    const rule = await createRule(one.graphql, { kind: 'DEAD_LETTERS', target });
    expect(rule.signingSecret).toBe('');
    const [stored] = await sql('select signing_secret, target::text from alert_rule where id = $1', [rule.id]);
    expect(stored?.signing_secret).toMatch(/^enc:v1:/);
    expect(stored?.target).not.toContain(KEY);
    await die(one.queueId);
    await tell(one, { send });
    await forget(one.queueId);
    await tell(one, { send });
    const [id] = await sql('select id from alert where rule_id = $1', [rule.id]);
    expect(events()).toEqual([
      {
        routing_key: KEY,
        event_action: 'trigger',
        dedup_key: id?.id,
        client: 'Jobferry',
        client_url: 'http://host/alerts',
        payload: expect.objectContaining({
          severity: 'warning',
          source: 'orders',
          class: 'dead_letters',
          component: 'orders',
          summary: expect.stringMatching(/^1 job of orders died/),
        }),
      },
      { routing_key: KEY, event_action: 'resolve', dedup_key: id?.id },
    ]);
    expect(service.requests[0]?.headers, 'the key signs nothing').not.toHaveProperty('x-service-signature');
    expect(await ruleOf(one.graphql)).toMatchObject({
      webhookUrl: 'https://events.pagerduty.com/v2/enqueue',
      target: { __typename: 'AlertPagerDuty', routingKey: `…${KEY.slice(-4)}`, severity: 'WARNING' },
      lastNotification: { attempts: 1, error: null },
    });
  });

  it('keeps its key while other settings change, and replaces it; what waits has the new one', async () => {
    const one = await newAccount();
    const { service, events, send } = await openPagerDuty(429);
    const target = { pagerDuty: { routingKey: KEY } };
    const rule = await createRule(one.graphql, { kind: 'DEAD_LETTERS', target });
    await die(one.queueId);
    await tell(one, { send });
    expect((await ruleOf(one.graphql)).lastNotification).toMatchObject({ webhookStatusCode: 429, error: 'HTTP 429' });
    expect(await change(one.graphql, rule.id, { target: { pagerDuty: { severity: 'INFO' } } })).toHaveProperty('rule');
    const next = `${KEY.slice(4)}${KEY.slice(0, 4)}`;
    expect(await change(one.graphql, rule.id, { target: { pagerDuty: { routingKey: next } } })).toHaveProperty('rule');
    service.respondWith(() => ({ status: 202 }));
    await send();
    expect(events().map((event) => [event.routing_key, (event.payload as { severity: string }).severity])).toEqual([
      [KEY, 'critical'],
      [next, 'info'],
    ]);
    const { auditLog } = await one.graphql.query(
      '{ auditLog(first: 5, action: "alert_rule.update") { nodes { before after } } }',
    );
    expect(JSON.stringify(auditLog)).not.toContain(next);
  });

  it('becomes a rule with a webhook, whose signing secret is no longer the key', async () => {
    const one = await newAccount();
    const rule = await createRule(one.graphql, { kind: 'DEAD_LETTERS', target: { pagerDuty: { routingKey: KEY } } });
    const rotate = async () =>
      (
        await one.graphql.query(
          `mutation R($id: ID!) { rotateAlertRuleSecret(id: $id) {
            __typename ... on RotateAlertRuleSecretPayload { signingSecret } ... on Error { message } } }`,
          { id: rule.id },
        )
      ).rotateAlertRuleSecret;
    expect(await rotate()).toMatchObject({ __typename: 'ConflictError' });
    expect(await change(one.graphql, rule.id, { webhookUrl: one.receiver.url })).toHaveProperty('rule');
    expect(await ruleOf(one.graphql)).toMatchObject({
      target: { __typename: 'AlertWebhook', url: `${one.receiver.url}/` },
    });
    const [{ signing_secret: stored } = {}] = await sql('select signing_secret from alert_rule where id = $1', [
      rule.id,
    ]);
    const secret = server().op.db.cipher.decrypt(`signing-secret:${rule.id}`, String(stored));
    expect(secret).not.toBe(KEY);
    expect(await rotate()).toMatchObject({ signingSecret: expect.any(String) });
  });

  it('continues with the events that were not taken, twenty in a notification', async () => {
    const one = await newAccount();
    const { service, events, send } = await openPagerDuty();
    const rule = await createRule(one.graphql, { kind: 'DEAD_LETTERS', target: { pagerDuty: { routingKey: KEY } } });
    await sql(
      `insert into alert (account_id, rule_id, queue_id, queue_name, state, since, fired_at, value, cause)
       select $1, $2, 'q' || n, 'q' || n, 'firing', jobferry_now(), jobferry_now(), 1, 'cause ' || n from generate_series(1, 50) n`,
      [one.accountId, rule.id],
    );
    service.respondWith(() => ({ status: service.requests.length <= 8 ? 202 : 500 }));
    // Alerts of queues that are gone end; those that were never told need no event.
    await sql(`update alert set firing_notification_id = 'told' where rule_id = $1`, [rule.id]);
    await evaluate(one.accountId);
    await send();
    expect(events(), 'two rounds of four were taken').toHaveLength(12);
    service.respondWith(() => ({ status: 202 }));
    await due(one.accountId);
    await send();
    for (const _round of [1, 2]) {
      await evaluate(one.accountId);
      await send();
    }
    const keys = events().map((event) => event.dedup_key);
    expect(new Set(keys).size).toBe(50);
    expect(keys, 'four were sent twice').toHaveLength(54);
  });
});
