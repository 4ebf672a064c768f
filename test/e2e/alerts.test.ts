import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createRule, type ReceivedAlerts } from '../support/alerts.ts';
import { type Cluster, startCluster, startProcesses } from '../support/cluster.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Alerts of whole processes, with and without a worker. */

const env = { ALERT_INTERVAL_SECONDS: '0.1' };
const KEY = 'test-key-of-the-first-account';

const clientOf = (cluster: Cluster) => createGraphQLClient(cluster.apiProcesses[0]?.baseUrl ?? '', KEY);

describe('alerts', () => {
  it('alerts about dead jobs fire and resolve, signed, while processes with all roles run', async () => {
    const cluster = await startCluster({ apis: 1, workers: 1, env });
    const graphql = clientOf(cluster);
    const [failing, alerts] = [await openReceiver({ status: 500 }), await openReceiver()];
    const queue = await cluster.api.createQueue({ name: 'orders', webhookUrl: failing.url, maxAttempts: 1 });
    const rule = await createRule(graphql, { kind: 'DEAD_LETTERS', forSeconds: 0, webhookUrl: alerts.url });
    const { id } = await cluster.api.publish('orders', { payload: {} });
    await cluster.api.waitForStatus(id, 'dead');
    const [firing] = await alerts.waitFor(1);
    expect(firing?.json()).toMatchObject({ alerts: [{ state: 'firing', queue: 'orders', value: 1 }] });
    expect(firing?.headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', rule.signingSecret)
        .update(firing?.raw ?? '')
        .digest('hex')}`,
    );
    await cluster.query('delete from dead_letter where queue_id = $1', [queue.id]);
    // A minute without the condition.
    await waitFor(async () => {
      await cluster.query(`update alert set clear_since = clear_since - interval '1 h' where state = 'firing'`);
      return alerts.requests.length === 2;
    });
    expect(alerts.requests[1]?.json()).toMatchObject({ alerts: [{ state: 'resolved', queue: 'orders' }] });
  });

  it('an alert that no worker runs is sent by an API process; a killed one repeats only the same id', async () => {
    const cluster = await startProcesses({ apis: 1, workers: 0, env });
    const gate = createGate();
    const alerts = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    await createRule(clientOf(cluster), { kind: 'NO_WORKER', forSeconds: 0, webhookUrl: alerts.url });
    // The first process is killed while the receiver thinks: nothing has recorded that it was sent.
    await waitFor(() => alerts.inFlight === 1);
    await cluster.apiProcesses[0]?.kill('SIGKILL');
    gate.open();
    await cluster.addApi();
    // The thirty seconds until another process takes the turn, and until it sends the notification again.
    await cluster.query(`update follower set updated_at = updated_at - interval '1 h' where name = 'alerts'`);
    await cluster.query('update alert_notification set next_at = jobferry_now()');
    await waitFor(async () => {
      const [row] = await cluster.query<{ sent: number }>(
        'select count(*)::integer as sent from alert_notification where sent_at is not null',
      );
      return row?.sent === 1;
    });
    const bodies = alerts.requests.map((request) => request.json() as unknown as ReceivedAlerts);
    expect(new Set(bodies.map(({ id }) => id)).size, 'one notification').toBe(1);
    expect(bodies.length).toBeLessThanOrEqual(2);
    expect(bodies[0]).toMatchObject({ rule: { kind: 'no_worker' }, alerts: [{ state: 'firing', queue: null }] });
    expect(await cluster.query('select id from alert_notification')).toHaveLength(1);
  });
});
