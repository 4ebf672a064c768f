/** Which tables a backup has. A test fails for a table that is in neither list. */

export interface BackedUpTable {
  readonly name: string;
  /** The columns by which its rows are read in order, with their types and a value below all others. */
  readonly key: readonly (readonly [column: string, type: string, lowest: string])[];
}

const text = (column: string) => [column, 'text', ''] as const;
const time = (column: string) => [column, 'timestamptz', '-infinity'] as const;

export const ACCOUNTS: BackedUpTable = { name: 'account', key: [text('id')] };
export const QUEUES: BackedUpTable = { name: 'queue', key: [text('id')] };
export const JOBS: BackedUpTable = { name: 'job', key: [text('id')] };
export const RECEIPTS: BackedUpTable = { name: 'account_deletion', key: [text('account_id')] };

/** Read by `account_id`, after the queues, which rows of them may refer to. */
export const OF_ACCOUNT: readonly BackedUpTable[] = [
  { name: 'api_key', key: [text('id')] },
  { name: 'member', key: [text('id')] },
  { name: 'usage', key: [text('month')] },
  { name: 'queue_usage', key: [text('month'), text('queue_id')] },
  { name: 'audit_entry', key: [text('id')] },
  { name: 'bulk_action', key: [text('id')] },
  { name: 'dismissal', key: [text('fingerprint')] },
  { name: 'alert_rule', key: [text('id')] },
  { name: 'saved_view', key: [text('id')] },
];

/** Read by `queue_id`. */
export const OF_QUEUE: readonly BackedUpTable[] = [
  { name: 'queue_stats', key: [time('bucket')] },
  { name: 'queue_completed', key: [time('created_bucket')] },
];

/**
 * Sums of attempts that the statistics do not have yet when the backup is made. A restore adds them to the statistics.
 */
export const RECENT_STATS: BackedUpTable = { name: 'recent_stats', key: [] };
export const RECENT_COMPLETED: BackedUpTable = { name: 'recent_completed', key: [] };

/** Read by the ids of jobs. */
export const OF_JOBS: readonly BackedUpTable[] = [
  { name: 'attempt', key: [text('job_id'), ['ordinal', 'integer', '-1']] },
  { name: 'dead_letter', key: [text('job_id')] },
  { name: 'bulk_action_job', key: [text('job_id'), text('action_id')] },
];

/** The kinds of rows in a backup, in an order in which foreign keys hold. */
export const BACKED_UP: readonly BackedUpTable[] = [
  ...[ACCOUNTS, QUEUES, ...OF_QUEUE, RECENT_STATS, RECENT_COMPLETED, JOBS, ...OF_JOBS, ...OF_ACCOUNT, RECEIPTS],
];

/** Why the other tables are not in a backup. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  alert: 'evaluated again by the rules',
  alert_notification: 'their receivers have them, or get others when an alert is found again',
  session: 'people sign in again',
  sign_in_link: 'lasts for ten minutes',
  instance: 'heartbeats of running processes',
  release_run: 'heartbeats write it: it says what ran on this database',
  lease_confirmation: 'lease locks of running processes',
  tunnel: 'clients that listen at running processes',
  follower: 'positions of background work in this database',
  job_search: 'made again from the payloads',
  queue_bookmark: 'claims make it, from the jobs that are there',
  rate_window: 'a restored queue is paused, and its window over when it is resumed',
  schema_functions: 'made by each start',
  schema_release: 'made by each start; the header has the release',
  _prisma_migrations: 'made by each start; the header has the names',
};
