import type { PoolUse } from '../../db/connection/connections.ts';
import type { Counts } from '../counts/counts.ts';
import type { Distributions } from '../counts/distribution.ts';
import type { Tally } from '../counts/tally.ts';
import type { AccountSeries } from './account-series.ts';
import type { QueueSeries } from './queue-series.ts';
import type { Buckets, Definition, Sample } from './registry.ts';

interface RequestFacts {
  /** Large publishes count several times. */
  runningPublishes: number;
  unreadBytes: number;
}

interface WorkerFacts {
  inFlight: number;
  capacity: number;
  delivers: boolean;
  /** Queues that another session has kept locked for some time. */
  lockedQueues: number;
}

/** The facts about its process on a page. */
export interface ProcessFacts {
  version: string;
  /** The commit of the build; empty if it is not known. */
  commit: string;
  role: string;
  /** Null for a process that does not deliver. */
  worker: () => WorkerFacts | null;
  /** Null for a process without the API. */
  requests: () => RequestFacts | null;
  /** Null for a process without a replica. */
  replica: () => { lagSeconds: number | null; inUse: boolean } | null;
  /** How far the clock of the database is ahead of that of the process; null if that is not known. */
  clockOffsetSeconds: () => number | null;
}

const QUEUE = ['account', 'queue'];

/** Counts of events since the start of the process. Their sums over all processes are right. */
export function countMetrics(counts: Counts, series: QueueSeries, accounts: AccountSeries): Definition[] {
  return [
    {
      name: 'jobferry_publishes_total',
      help: 'Publishes that were stored (created), or that matched a job with the same idempotency key (existing).',
      type: 'counter',
      labels: [...QUEUE, 'result'],
      read: () => series.read('publishes'),
    },
    {
      name: 'jobferry_publish_refusals_total',
      help: 'Publishes that were refused, by reason.',
      type: 'counter',
      labels: ['reason'],
      read: () => samples(counts.refusedPublishes),
    },
    ...batches('jobferry_publish_batch', 'publish', counts.publishes),
    {
      name: 'jobferry_deliveries_total',
      help: 'Deliveries that have ended, by outcome and by the class of the status code of the webhook.',
      type: 'counter',
      labels: [...QUEUE, 'outcome', 'status_class'],
      read: () => series.read('deliveries'),
    },
    {
      name: 'jobferry_delivery_duration_seconds',
      help: 'Duration of a delivery, from its start to the end of the answer.',
      type: 'histogram',
      labels: ['outcome'],
      read: () => distributions(counts.deliverySeconds),
    },
    {
      name: 'jobferry_delivery_wait_seconds',
      help: 'Time from the moment at which a job was due to its claim.',
      type: 'histogram',
      read: () => [[[], counts.waitSeconds]],
    },
    {
      name: 'jobferry_jobs_completed_total',
      help: 'Jobs that were completed.',
      type: 'counter',
      labels: QUEUE,
      read: () => series.read('completed'),
    },
    {
      name: 'jobferry_job_retries_total',
      help: 'Failed attempts after which the job is delivered again, by reason.',
      type: 'counter',
      labels: [...QUEUE, 'reason'],
      read: () => series.read('retries'),
    },
    {
      name: 'jobferry_job_holds_total',
      help: 'Jobs that were put off because the webhook or a report asked for it, or as failed probes of an open breaker, by reason.',
      type: 'counter',
      labels: [...QUEUE, 'reason'],
      read: () => series.read('holds'),
    },
    {
      name: 'jobferry_jobs_dead_total',
      help: 'Jobs that died, by reason.',
      type: 'counter',
      labels: [...QUEUE, 'reason'],
      read: () => series.read('dead'),
    },
    {
      name: 'jobferry_publish_claimed_jobs_total',
      help: 'Jobs that this process claimed in the statement that stored them.',
      type: 'counter',
      read: () => [[[], counts.claimedAtPublish]],
    },
    ...batches('jobferry_claim', 'claim', counts.claims),
    ...batches('jobferry_settle', 'settle', counts.settles),
    {
      name: 'jobferry_outcomes_dropped_total',
      help: 'Outcomes of deliveries that were not written, because another process had settled or taken back the job.',
      type: 'counter',
      read: () => [[[], counts.droppedOutcomes]],
    },
    {
      name: 'jobferry_database_disk_full_total',
      help: 'Statements of this process that the database refused because its disk is full.',
      type: 'counter',
      read: () => [[[], counts.diskFull]],
    },
    {
      name: 'jobferry_lease_takebacks_total',
      help: 'Claims that were taken back, by reason.',
      type: 'counter',
      labels: ['reason'],
      read: () => samples(counts.takebacks),
    },
    {
      name: 'jobferry_retention_removed_total',
      help: 'Rows that the retention sweep of this process has removed, by kind.',
      type: 'counter',
      labels: ['kind'],
      read: () => samples(counts.removed).map(([[kind = ''], count]): Sample => [[snakeCase(kind)], count]),
    },
    {
      name: 'jobferry_http_requests_total',
      help: 'Requests that were answered, by method, route and status code; the code is aborted without a whole answer.',
      type: 'counter',
      labels: ['method', 'route', 'code'],
      read: () => samples(counts.requests),
    },
    {
      name: 'jobferry_account_requests_total',
      help: 'Requests that were answered, by account and status code; only the busiest accounts have series of their own.',
      type: 'counter',
      labels: ['account', 'code'],
      read: () => accounts.read(),
    },
    {
      name: 'jobferry_http_request_duration_seconds',
      help: 'Time from the headers of a request to the end of its answer, without streams of events.',
      type: 'histogram',
      labels: ['route'],
      read: () => distributions(counts.requestSeconds),
    },
    {
      name: 'jobferry_graphql_operations_total',
      help: 'GraphQL operations by type and result; refused ones did not run.',
      type: 'counter',
      labels: ['type', 'result'],
      read: () => samples(counts.operations),
    },
    {
      name: 'jobferry_alert_evaluations_total',
      help: 'Evaluations of alert rules by result; after a failed one the alerts of the rule stay as they are.',
      type: 'counter',
      labels: ['result'],
      read: () => samples(counts.alertEvaluations),
    },
    {
      name: 'jobferry_alert_notifications_total',
      help: 'Attempts to send a notification of an alert rule, by result; another attempt follows a failed one.',
      type: 'counter',
      labels: ['result'],
      read: () => samples(counts.alertNotifications),
    },
  ];
}

/** The present state of the process. Its sums over all processes are right. */
export function stateMetrics(
  { version, commit, role, worker, requests, replica, clockOffsetSeconds }: ProcessFacts,
  poolUse: () => readonly PoolUse[],
): Definition[] {
  const ofRequests = (read: (facts: RequestFacts) => number): Sample[] => {
    const facts = requests();
    return facts === null ? [] : [[[], read(facts)]];
  };
  const ofWorker = (read: (facts: WorkerFacts) => number): Sample[] => {
    const facts = worker();
    return facts === null ? [] : [[[], read(facts)]];
  };
  return [
    {
      name: 'jobferry_build_info',
      help: 'Always 1. The labels are the version of Jobferry, the commit of the build, the version of Node and the role of the process.',
      type: 'gauge',
      labels: ['version', 'commit', 'node', 'role'],
      read: () => [[[version, commit, process.version, role], 1]],
    },
    {
      name: 'jobferry_clock_offset_seconds',
      help: 'How far the clock of the database is ahead of that of this process; nothing while that is not known.',
      type: 'gauge',
      read: () => {
        const offset = clockOffsetSeconds();
        return offset === null ? [] : [[[], offset]];
      },
    },
    {
      name: 'jobferry_publishes_running',
      help: 'Publishes that this process works on, from the last byte of the body to the answer; large ones count several times.',
      type: 'gauge',
      read: () => ofRequests(({ runningPublishes }) => runningPublishes),
    },
    {
      name: 'jobferry_unread_answer_bytes',
      help: 'Bytes of answers that wait in this process until their clients read them.',
      type: 'gauge',
      read: () => ofRequests(({ unreadBytes }) => unreadBytes),
    },
    {
      name: 'jobferry_worker_delivers',
      help: 'Whether this worker can claim and settle jobs (1) or has a problem (0).',
      type: 'gauge',
      read: () => ofWorker(({ delivers }) => Number(delivers)),
    },
    {
      name: 'jobferry_deliveries_in_flight',
      help: 'Deliveries of this worker that have not been settled.',
      type: 'gauge',
      read: () => ofWorker(({ inFlight }) => inFlight),
    },
    {
      name: 'jobferry_delivery_slots',
      help: 'Deliveries that this worker can have in flight at once.',
      type: 'gauge',
      read: () => ofWorker(({ capacity }) => capacity),
    },
    {
      name: 'jobferry_locked_queues',
      help: 'Queues that this worker cannot claim from because another session has kept them locked for 10 s or longer.',
      type: 'gauge',
      read: () => ofWorker(({ lockedQueues }) => lockedQueues),
    },
    {
      name: 'jobferry_replica_in_use',
      help: 'Whether the GraphQL queries of this process read from the replica (1) or from the primary (0).',
      type: 'gauge',
      read: () => {
        const facts = replica();
        return facts === null ? [] : [[[], Number(facts.inUse)]];
      },
    },
    {
      name: 'jobferry_replica_lag_seconds',
      help: 'How far the replica is behind at most; nothing while that is not known.',
      type: 'gauge',
      read: () => {
        const lag = replica()?.lagSeconds ?? null;
        return lag === null ? [] : [[[], lag]];
      },
    },
    {
      name: 'jobferry_database_connections',
      help: 'Connections of the pools of this process, by state.',
      type: 'gauge',
      labels: ['pool', 'state'],
      read: () =>
        poolUse().flatMap(({ pool, used, idle }): Sample[] => [
          [[pool, 'used'], used],
          [[pool, 'idle'], idle],
        ]),
    },
    {
      name: 'jobferry_database_connections_max',
      help: 'Connections that a pool of this process can have.',
      type: 'gauge',
      labels: ['pool'],
      read: () => poolUse().map(({ pool, max }): Sample => [[pool], max]),
    },
    {
      name: 'jobferry_database_connections_unused',
      help: 'Connections of this process that have been in use for a second or longer without a statement.',
      type: 'gauge',
      labels: ['pool'],
      read: () => poolUse().map(({ pool, unused }): Sample => [[pool], unused]),
    },
    {
      name: 'jobferry_database_waiting',
      help: 'Statements of this process that wait for a connection.',
      type: 'gauge',
      labels: ['pool'],
      read: () => poolUse().map(({ pool, waiting }): Sample => [[pool], waiting]),
    },
    {
      name: 'jobferry_database_connection_wait_seconds',
      help: 'Time that statements have waited for a connection.',
      type: 'histogram',
      labels: ['pool'],
      read: () => poolUse().map(({ pool, waits }): Buckets => [[pool], waits]),
    },
  ];
}

function batches(prefix: string, what: string, { results, seconds, jobs }: Counts['claims']): Definition[] {
  return [
    {
      name: `${prefix}_statements_total`,
      help: `Statements that ${what} jobs, by result.`,
      type: 'counter',
      labels: ['result'],
      read: () => samples(results),
    },
    {
      name: `${prefix}_duration_seconds`,
      help: `Duration of the statements that ${what} jobs, with the wait for a connection.`,
      type: 'histogram',
      read: () => [[[], seconds]],
    },
    {
      name: `${prefix}_jobs`,
      help: `Jobs in a statement to ${what} jobs, without statements that failed.`,
      type: 'histogram',
      read: () => [[[], jobs]],
    },
  ];
}

function samples(tally: Tally): Sample[] {
  return tally.entries().map(({ values, count }): Sample => [values, count]);
}

function distributions(by: Distributions): Buckets[] {
  return Array.from(by.entries(), ([value, distribution]): Buckets => [[value], distribution]);
}

/** The usual spelling of values in Prometheus. */
function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
