import { beforeAll, expect, it } from 'vitest';
import { type SeededService, seedService } from './seed.ts';

/** The seeded service shows what its names promise: every screen and picture relies on it. */

let service: SeededService;
beforeAll(async () => {
  service = await seedService();
});

it('has a job for each waiting reason that lasts', async () => {
  const { jobs, graphql } = service;
  const expected = {
    retrying: 'BACKOFF',
    held: 'HELD',
    delayed: 'DELAYED',
    paused: 'PAUSED',
    due: 'DUE',
    noSlot: 'CONCURRENCY',
    rateLimited: 'RATE_LIMIT',
    queueHeld: 'QUEUE_HELD',
    behindProbe: 'PROBE_IN_FLIGHT',
  };
  const find = async () => {
    const found = await Promise.all(
      Object.keys(expected).map(async (name) => {
        const { job } = await graphql.query('query ($id: ID!) { job(id: $id) { waiting { reason } } }', {
          id: jobs[name as keyof typeof jobs],
        });
        return [name, job.waiting?.reason ?? null];
      }),
    );
    return Object.fromEntries(found);
  };
  // Between two deliveries a full queue has a free slot.
  await expect.poll(find).toEqual(expected);
});

it('has a job for each cause of death', async () => {
  const { jobs, graphql } = service;
  const expected = {
    attemptsExhausted: 'ATTEMPTS_EXHAUSTED',
    ackTimeout: 'ACK_TIMEOUT',
    nacked: 'NACKED',
    cancelled: 'CANCELLED',
    deferCapExhausted: 'DEFER_CAP_EXHAUSTED',
    retryAfterExceedsLifetime: 'RETRY_AFTER_EXCEEDS_LIFETIME',
    lifetimeExceeded: 'DELIVERY_LIFETIME_EXCEEDED',
    queueDeleted: 'QUEUE_DELETED',
  };
  const found = await Promise.all(
    Object.keys(expected).map(async (name) => {
      const { job } = await graphql.query('query ($id: ID!) { job(id: $id) { deadReason } }', {
        id: jobs[name as keyof typeof jobs],
      });
      return [name, job.deadReason];
    }),
  );
  expect(Object.fromEntries(found)).toEqual(expected);
});

it('has queues in every condition', async () => {
  const { queues } = await service.graphql.query(`{ queues(first: 50) { nodes {
    name paused oldestDueSeconds inFlight hold { until probe { id } } health { warnings { warning } } depth { due held } } } }`);
  const by = Object.fromEntries(queues.nodes.map((queue: { name: string }) => [queue.name, queue]));
  const warnings = (name: string) => by[name].health.warnings.map(({ warning }: { warning: string }) => warning);
  expect(warnings('crm-sync')).toContain('SIGNATURE_REJECTED');
  expect(warnings('emails')).toEqual(['FAILING']);
  expect(warnings('video-transcode')).toEqual(['SLOW_RECEIVER']);
  expect(warnings('sms-gateway')).toEqual(['BACKPRESSURE']);
  for (const name of ['order-events', 'audit-trail', 'push-notify', 'search-index']) expect(warnings(name)).toEqual([]);
  expect(by['billing-export'].paused).toBe(true);
  expect(by['llm-summaries'].hold.probe).toBeNull();
  expect(by['llm-moderation'].hold.probe.id).toBe(service.jobs.probe);
  expect(by['search-index'].oldestDueSeconds).toBeGreaterThan(60);
  expect(by['search-index'].depth.due).toBeGreaterThan(1000);
});

it('has actions, an audit log and dead letters of several causes', async () => {
  const { running, ended, auditLog, errorGroups } = await service.graphql.query(
    `query ($running: ID!, $ended: ID!) {
       running: bulkAction(id: $running) { status } ended: bulkAction(id: $ended) { status succeeded }
       auditLog(first: 50) { nodes { action } } errorGroups(first: 20) { reason count } }`,
    service.actions,
  );
  expect(running.status).toBe('RUNNING');
  // More when a busy machine has published the 88 jobs again, because their answer was lost.
  expect([ended.status, ended.succeeded % 88]).toEqual(['COMPLETED', 0]);
  expect(ended.succeeded).toBeGreaterThan(0);
  expect(new Set(auditLog.nodes.map(({ action }: { action: string }) => action)).size).toBeGreaterThan(8);
  expect(errorGroups.length).toBeGreaterThan(8);
});

it('has an alert that fires, and one that is over', async () => {
  const { alerts, alertRules } = await service.graphql.query(
    '{ alerts(first: 10) { nodes { state cause } } alertRules { format } }',
  );
  expect(alerts.nodes.map(({ state }: { state: string }) => state).sort()).toEqual(['FIRING', 'RESOLVED']);
  expect(alertRules).toEqual([{ format: 'JOBFERRY' }, { format: 'SLACK' }]);
});
