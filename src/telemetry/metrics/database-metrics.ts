import type { QueueMeasures } from '../../db/insight/measures.ts';
import type { ServerMeasures } from '../../db/insight/server-measures.ts';
import type { Facts } from './database-facts.ts';
import { OTHER } from './queue-series.ts';
import type { Definition, Sample } from './registry.ts';

const QUEUE = ['account', 'queue'];

/**
 * @param isUp whether the database answered in time for this page
 * @param facts, server null in all processes but one
 */
export function databaseMetrics(
  isUp: () => boolean,
  facts: () => Facts | null,
  server: () => ServerMeasures | null,
): Definition[] {
  return [
    {
      name: 'jobferry_database_up',
      help: 'Whether the database answered this process in time for this page (1) or not (0).',
      type: 'gauge',
      read: () => [[[], Number(isUp())]],
    },
    ...queueMetrics(facts),
    ...lagMetrics(facts),
    ...serverMetrics(server),
    {
      name: 'jobferry_schema_info',
      help: 'Always 1. The label is the last migration of the database. Shown by one process.',
      type: 'gauge',
      labels: ['migration'],
      read: () => of(facts, ({ service }) => [[[service.migration], 1]]),
    },
  ];
}

function queueMetrics(facts: () => Facts | null): Definition[] {
  const byQueue = (read: (queue: QueueMeasures) => readonly Sample[]) => () =>
    of(facts, (known) =>
      queuesOf(known).flatMap(([labels, queue]) =>
        read(queue).map(([more, value]): Sample => [[...labels, ...more], value]),
      ),
    );
  return [
    {
      name: 'jobferry_queue_jobs',
      help: 'Jobs that have not ended, by state; counted to 10000 in each state of a queue. Shown by one process.',
      type: 'gauge',
      labels: [...QUEUE, 'state'],
      read: byQueue(({ due, scheduled, processing, awaitingAck }) => [
        [['due'], due],
        [['scheduled'], scheduled],
        [['processing'], processing],
        [['awaiting_ack'], awaitingAck],
      ]),
    },
    {
      name: 'jobferry_queue_oldest_due_age_seconds',
      help: 'Age of the oldest due job; 0 without one, and while the queue is paused or held. Shown by one process.',
      type: 'gauge',
      labels: QUEUE,
      read: byQueue(({ oldestSeconds }) => [[[], oldestSeconds]]),
    },
    {
      name: 'jobferry_queue_hold_seconds',
      help: 'Time since the start of the present hold of the queue, also by its breaker; 0 without a hold. Shown by one process.',
      type: 'gauge',
      labels: QUEUE,
      read: byQueue(({ holdSeconds }) => [[[], holdSeconds]]),
    },
    {
      name: 'jobferry_queue_paused',
      help: 'Whether the queue is paused (1). Not for other queues together. Shown by one process.',
      type: 'gauge',
      labels: QUEUE,
      read: () => of(facts, (known) => ownOf(known).map(([labels, { paused }]): Sample => [labels, Number(paused)])),
    },
    {
      name: 'jobferry_queue_breaker_open',
      help: 'Whether the breaker of the queue is open (1). Not for other queues together. Shown by one process.',
      type: 'gauge',
      labels: QUEUE,
      read: () => of(facts, (known) => ownOf(known).map(([labels, own]): Sample => [labels, Number(own.breakerOpen)])),
    },
    {
      name: 'jobferry_queue_concurrency',
      help: 'Jobs of the queue that can be in flight at once. Not for other queues together. Shown by one process.',
      type: 'gauge',
      labels: QUEUE,
      read: () => of(facts, (known) => ownOf(known).map(([labels, { concurrency }]): Sample => [labels, concurrency])),
    },
  ];
}

function lagMetrics(facts: () => Facts | null): Definition[] {
  const lag = (name: string, help: string, read: (service: Facts['service']) => number | null): Definition => ({
    name,
    help: `${help}; 0 if there is none. Shown by one process.`,
    type: 'gauge',
    read: () => of(facts, ({ service }) => [[[], Math.max(read(service) ?? 0, 0)]]),
  });
  return [
    lag(
      'jobferry_wakeup_lag_seconds',
      'Time since the oldest wake-up that no process has taken was due',
      (service) => service.wakeUpSeconds,
    ),
    lag(
      'jobferry_retention_lag_seconds',
      'Time since the end of retention of the oldest job that no sweep has examined',
      (service) => service.retentionSeconds,
    ),
    lag(
      'jobferry_search_lag_seconds',
      'Age of the oldest job whose payload is not in the search index yet',
      (service) => service.searchSeconds,
    ),
    lag(
      'jobferry_statistics_lag_seconds',
      'Time since which attempts are not in the statistics yet',
      (service) => service.statisticsSeconds,
    ),
  ];
}

function serverMetrics(server: () => ServerMeasures | null): Definition[] {
  const gauge = (name: string, help: string, read: (measures: ServerMeasures) => number): Definition => ({
    name,
    help: `${help}. Shown by one process.`,
    type: 'gauge',
    read: () => of(server, (measures) => [[[], read(measures)]]),
  });
  return [
    gauge('jobferry_database_size_bytes', 'Size of the database', ({ databaseBytes }) => databaseBytes),
    gauge(
      'jobferry_job_table_size_bytes',
      'Size of the table of jobs with its indexes, as of its last vacuum',
      ({ jobBytes }) => jobBytes,
    ),
    {
      name: 'jobferry_database_oldest_transaction_seconds',
      help: 'Age of the oldest transaction, by what its session does; 0 without one, absent if the database role cannot see sessions of other roles. Shown by one process.',
      type: 'gauge',
      labels: ['state'],
      read: () =>
        of(server, ({ idleTransactionSeconds, activeTransactionSeconds }) => [
          ...seen('idle', idleTransactionSeconds),
          ...seen('active', activeTransactionSeconds),
        ]),
    },
    {
      name: 'jobferry_database_snapshot_transactions',
      help: 'Transactions since the oldest row that a standby or a replication slot needs; 0 without one, absent if the database role cannot see sessions of other roles. Shown by one process.',
      type: 'gauge',
      read: () => of(server, ({ snapshotTransactions: count }) => (count === null ? [] : [[[], count]])),
    },
    gauge('jobferry_database_ids_age', 'Age of the oldest transaction id that is not frozen', ({ idsAge }) => idsAge),
    gauge(
      'jobferry_database_slot_wal_bytes',
      'WAL that the replication slot keeps that is furthest behind; 0 without a slot',
      ({ slotWalBytes }) => slotWalBytes,
    ),
    gauge(
      'jobferry_database_server_connections',
      'Connections of all programs that count for the limit with the least room',
      ({ connections }) => connections.used,
    ),
    gauge(
      'jobferry_database_server_connections_max',
      'The limit of connections with the least room: of the server, of the role or of the database',
      ({ connections }) => connections.max,
    ),
  ];
}

function seen(state: string, seconds: number | null): Sample[] {
  return seconds === null ? [] : [[[state], seconds]];
}

function of<Known>(source: () => Known | null, read: (known: Known) => readonly Sample[]): readonly Sample[] {
  const known = source();
  return known === null ? [] : read(known);
}

function queuesOf(known: Facts): [labels: readonly string[], queue: QueueMeasures][] {
  return [...ownOf(known), [OTHER, known.others]];
}

function ownOf({ named, own }: Facts): [labels: readonly string[], queue: Facts['own'][number]][] {
  const labels = new Map(named.map(({ id, accountId, name }) => [id, [accountId, name]]));
  return own.map((queue) => [labels.get(queue.id) ?? OTHER, queue]);
}
