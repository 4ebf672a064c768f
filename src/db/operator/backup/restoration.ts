import pg from 'pg';
import type { Actor } from '../../../domain/audit.ts';
import { BackupError } from '../../../domain/backup.ts';
import { actorJson } from '../../audit.ts';
import { type Address, createClient } from '../../connection/address.ts';
import type { Database } from '../../connection/database.ts';
import { KEEP_ALIVE, UNLIMITED } from '../../connection/keep-alive.ts';
import { MARK_OPERATORS_ACCOUNT, OPERATORS_ACCOUNT } from '../../operator-account.ts';
import { inSession } from '../session.ts';
import { PAUSED_BY } from '../suspension.ts';
import { BACKED_UP, JOBS, RECEIPTS } from './tables.ts';

/** Column of an inserted row, as SQL; `r` is the row of the backup. All other columns are as they were. */
type Changes = Readonly<Record<string, string>>;

/** The pauses of `account suspend`, so that `account resume` ends them. Queues that were paused before stay paused. */
const isToPause = 'r.paused_at is null and r.deleted_at is null';
const isInterrupted = `r.status = 'processing'`;
// $3 is the time of the backup.
const CHANGES: Readonly<Record<string, Changes>> = {
  account: {
    suspended_at: 'coalesce(r.suspended_at, jobferry_now())',
    suspended_by: `coalesce(r.suspended_by, 'operator (restored)')`,
    // Null in a backup of a release without it.
    is_operator: 'coalesce(r.is_operator, false) and not exists (select from account where is_operator)',
  },
  queue: {
    paused_at: `case when ${isToPause} then jobferry_now() else r.paused_at end`,
    paused_by: `case when ${isToPause} then '${PAUSED_BY}' else r.paused_by end`,
    // The probe is not in flight here. The next delivery is another one.
    probe_job_id: 'null',
  },
  job: {
    // As after the death of a worker (D2), but not counted as an interruption: the job is not suspected.
    status: `case when ${isInterrupted} then 'pending' else r.status end`,
    attempts: `case when ${isInterrupted} then r.attempts - 1 else r.attempts end`,
    wait_reason: `case when ${isInterrupted} then null else r.wait_reason end`,
    // The receiver gets the time that it had left.
    deadline: `case when r.status = 'awaiting_ack'
                    then jobferry_now() + greatest(r.deadline - $3::timestamptz, interval '0') end`,
    worker_id: 'null',
    // Tokens and worker numbers come from sequences of the other database.
    claim_token: '0',
  },
  // Not in a backup of a release without it.
  usage: { part: '0' },
  bulk_action: {
    // It would go on by itself.
    status: `case when r.status = 'running' then 'paused' else r.status end`,
    paused_at: `case when r.status = 'running' then jobferry_now() else r.paused_at end`,
    paused_by: `case when r.status = 'running' then 'operator (restored)' else r.paused_by end`,
  },
};

const sum = (table: string, column: string) => `${column} = ${table}.${column} + excluded.${column}`;
const COUNTS = ['success', 'failed', 'nacked', 'deferred', 'dead'].concat(
  ['2xx', '3xx', '4xx', '5xx'].map((digits) => `answered_${digits}`),
  ['unauthorized', 'backpressure', 'unanswered'],
);
const histograms = ['durations', 'waits'].map(
  (column) => `${column} = jobferry_histogram_sum(queue_stats.${column}, excluded.${column})`,
);
/** The treatment of a row that is there already. In other tables such a row is an error. */
const ON_CONFLICT: Readonly<Record<string, string>> = {
  recent_stats: `on conflict (queue_id, bucket) do update
                 set ${[...COUNTS.map((column) => sum('queue_stats', column)), ...histograms].join(', ')}`,
  recent_completed: `on conflict (queue_id, created_bucket) do update set ${sum('queue_completed', 'completed')}`,
  account_deletion: 'on conflict (account_id) do nothing',
};

/** The tables of rows that have another name. */
const TARGETS: Readonly<Record<string, string>> = { recent_stats: 'queue_stats', recent_completed: 'queue_completed' };

/** Rows that are left out. A receipt of an account that is here would make it look as if it were being deleted. */
const CONDITIONS: Readonly<Record<string, string>> = {
  account_deletion: 'where not exists (select from account a where a.id = r.account_id)',
};

const ofQueue = 'exists (select from queue q where q.id = r.queue_id and q.account_id = any ($2))';
const ofJob = `exists (select from job j join queue q on q.account_id = j.account_id
                        where j.id = r.job_id and q.id = r.queue_id and j.account_id = any ($2))`;
// A queue that was removed is in no account.
const ofNoOtherQueue = 'not exists (select from queue q where q.id = r.queue_id and q.account_id <> r.account_id)';
/**
 * Which rows belong to the accounts $2, whose rows they follow; in other tables that is decided by `account_id`. A file
 * that was not made by `backup` could have rows of accounts that are here already.
 */
const OWN: Readonly<Record<string, string>> = {
  account: 'r.id = any ($2)',
  queue_stats: ofQueue,
  queue_completed: ofQueue,
  recent_stats: ofQueue,
  recent_completed: ofQueue,
  job: `r.account_id = any ($2) and exists (select from queue q where q.id = r.queue_id and q.account_id = r.account_id)`,
  attempt: ofJob,
  dead_letter: ofJob,
  bulk_action_job: `exists (select from job j where j.id = r.job_id and j.account_id = any ($2) and not exists (
                      select from bulk_action a where a.id = r.action_id and a.account_id <> j.account_id))`,
  bulk_action: `r.account_id = any ($2) and ${ofNoOtherQueue}`,
  alert_rule: `r.account_id = any ($2) and ${ofNoOtherQueue}`,
  queue_usage: `r.account_id = any ($2) and ${ofNoOtherQueue}`,
};

/** @returns why a backup with rows of other accounts is refused */
export function foreignRows(table: string): string {
  return (
    `the backup has rows of ${table} that do not belong to the account whose rows they follow, ` +
    'so `backup` has not made it: use another backup'
  );
}

/** Jobs that were in flight when the backup was made. */
interface InFlight {
  accountId: string;
  /** Being delivered. */
  interrupted: string[];
  /** Delivered, and waiting for a report. */
  awaitingAck: number;
}

/** Inserts the rows of a backup in one transaction, so that an interrupted restore leaves nothing. */
export class Restoration {
  readonly #client: pg.Client;
  readonly #madeAt: string;
  /** The statement of each table. */
  readonly #statements: ReadonlyMap<string, string>;

  private constructor(client: pg.Client, madeAt: string, statements: ReadonlyMap<string, string>) {
    this.#client = client;
    this.#madeAt = madeAt;
    this.#statements = statements;
  }

  /**
   * @param backup `madeAt`: time of the backup; `columns`: columns of its tables
   * @throws BackupError if the rows cannot be inserted here
   */
  static async run<T>(
    { db, url }: { db: Database; url: Address },
    backup: { madeAt: string; columns: Readonly<Record<string, readonly string[]>> },
    work: (restoration: Restoration) => Promise<T>,
  ): Promise<T> {
    return inSession({ db, url, name: 'jobferry restore' }, async (client) => {
      try {
        await client.query('begin');
        const { rows } = await client.query<{ alone: boolean }>(
          `select pg_try_advisory_xact_lock(hashtextextended('jobferry restore', 0)) as alone`,
        );
        if (rows[0]?.alone !== true)
          throw new BackupError(
            'another restore is running in this database, or one that was killed ends within a minute: wait for that',
          );
        const statements = await statementsFor(client, backup.columns);
        const result = await work(new Restoration(client, backup.madeAt, statements));
        await client.query('commit');
        return result;
      } catch (error) {
        throw explained(error);
      }
    });
  }

  /**
   * @param rows of one table, as JSON
   * @param owners ids of the accounts that the rows must belong to
   * @returns jobs in flight; empty for other tables
   * @throws BackupError if a row belongs to another account
   */
  async insert(table: string, rows: readonly string[], owners: readonly string[]): Promise<InFlight[]> {
    const text = this.#statements.get(table);
    if (text === undefined) throw new BackupError(`the backup has rows of ${table}, which this release does not know`);
    const given = `[${rows.join(',')}]`;
    if (table === RECEIPTS.name) {
      await this.#client.query(text, [given]);
      return [];
    }
    const values = [given, owners, ...(table === JOBS.name ? [this.#madeAt] : [])];
    const result = await this.#client.query<{ inserted: number; inFlight?: InFlight[] }>(text, values);
    const { inserted, inFlight = [] } = result.rows[0] ?? {};
    if (inserted !== rows.length) throw new BackupError(foreignRows(table));
    return inFlight;
  }

  /**
   * Decides who is the operator before any account is restored: a marked account of the backup stays marked if none is
   * marked here. @param gives whether the operator's account of this database gives its role up to that of the backup
   */
  async decideOperator(gives: boolean): Promise<void> {
    await this.#client.query(
      gives ? 'update account set is_operator = false where is_operator' : MARK_OPERATORS_ACCOUNT,
    );
  }

  /** Removes the receipt of an earlier deletion of the account, which is not deleted any more. */
  async forgetDeletion(accountId: string): Promise<void> {
    await this.#client.query('delete from account_deletion where account_id = $1 and finished_at is not null', [
      accountId,
    ]);
  }

  /** Writes an entry into the audit log of the account. */
  async audit(actor: Actor, { id, name }: { id: string; name: string }, facts: object): Promise<void> {
    const values = [id, actorJson(actor), name, JSON.stringify(facts)];
    await this.#client.query(
      `select jobferry_audit($1, $2::json, 'account.restore', 'account', $1, $3, null, $4::jsonb)`,
      values,
    );
  }
}

async function statementsFor(
  client: pg.Client,
  given: Readonly<Record<string, readonly string[]>>,
): Promise<Map<string, string>> {
  const { rows } = await client.query<{ table: string; columns: string[] }>(
    `select table_name as "table", array_agg(column_name::text) as columns
       from information_schema.columns where table_schema = current_schema() group by 1`,
  );
  const present = new Map(rows.map(({ table, columns }) => [table, columns]));
  const statements = new Map<string, string>();
  for (const { name } of BACKED_UP) {
    const target = TARGETS[name] ?? name;
    const columns = given[target] ?? [];
    // Names of columns are part of the statement, so all of them must be names of the database.
    const unknown = columns.filter((column) => !(present.get(target) ?? []).includes(column));
    if (unknown.length > 0) {
      throw new BackupError(
        `the backup has columns that this release does not know (${unknown.map((column) => `${name}.${column}`).join(', ')}): ` +
          'restore it with the release that made it, into an empty database, and upgrade that database',
      );
    }
    if (columns.length > 0) statements.set(name, statementFor(name, columns));
  }
  return statements;
}

function statementFor(name: string, given: readonly string[]): string {
  const table = TARGETS[name] ?? name;
  const changes = CHANGES[name] ?? {};
  // A backup of an earlier release may lack a column that is changed.
  const columns = [...new Set([...given, ...Object.keys(changes)])];
  const values = columns.map((column) => changes[column] ?? `r.${column}`);
  const condition = CONDITIONS[name] ?? `where ${OWN[name] ?? 'r.account_id = any ($2)'}`;
  const insert = `
    insert into ${table} (${columns.join(', ')}) select ${values.join(', ')} from given r ${condition}
    ${ON_CONFLICT[name] ?? ''}`;
  const rows = `given as materialized (select * from json_populate_recordset(null::${table}, $1::json))`;
  if (name === RECEIPTS.name) return `with ${rows} ${insert}`;
  const made = `with ${rows}, made as (${insert} returning 1)`;
  const inserted = '(select count(*) from made)::integer as inserted';
  if (name !== JOBS.name) return `${made} select ${inserted}`;
  // Payloads wait to be made searchable, as those of an account that is in the way of others: in turn.
  return `
    ${made}, searchable as (
      insert into job_search (job_id, queue_id, waiting_account) select id, queue_id, account_id from given
    ), in_flight as (
      select account_id as "accountId",
             coalesce(array_agg(id order by id) filter (where status = 'processing'), '{}') as interrupted,
             (count(*) filter (where status = 'awaiting_ack'))::integer as "awaitingAck"
        from given where status in ('processing', 'awaiting_ack') group by 1
    )
    select ${inserted}, (select coalesce(json_agg(f), '[]') from in_flight f) as "inFlight"`;
}

/** unique_violation */
const UNIQUE = '23505';

function explained(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError) || error.code !== UNIQUE) return error;
  if (error.constraint === 'api_key_hash_key') {
    return new BackupError(
      'an API key of the backup is here already, in another account; usually `serve` has made it from BOOTSTRAP_API_KEY: ' +
        'restore into a database that no `serve` has used',
    );
  }
  return new BackupError(`a row of the backup is here already (${error.table}): nothing was restored`);
}

const PRESENT = `
  select a.id, a.name, false as "isBeingDeleted", a.id = ${OPERATORS_ACCOUNT} as "isOperators"
    from account a where a.id = any ($1)
   union all
  select d.account_id, d.name, true, false from account_deletion d where d.account_id = any ($1) and d.finished_at is null
   order by 1 limit 1`;

export interface PresentAccount {
  id: string;
  name: string;
  isBeingDeleted: boolean;
  /** Whether it is the operator's, which cannot be deleted. */
  isOperators: boolean;
}

/** @returns one of the accounts that is here; null if none is */
export function presentAccount(db: Database, ids: readonly string[]): Promise<PresentAccount | null> {
  return db.one<PresentAccount & Record<string, unknown>>(PRESENT, [ids]);
}

/**
 * Whether the statistics have all attempts until then, so that attempts of a backup from then are not counted again.
 */
export async function areStatisticsPast(db: Database, moment: string, retentionMs: number): Promise<boolean> {
  const row = await db.one<{ past: boolean }>(
    `select jobferry_stats_until($1 * interval '1 ms') >= $2::timestamptz as past`,
    [retentionMs, moment],
  );
  return row?.past === true;
}

/** Otherwise statements on many new rows would have plans for few, until autovacuum comes. */
export async function analyzeRestored({ url }: { url: Address }): Promise<void> {
  const client = createClient(url, {
    application_name: 'jobferry restore',
    ...KEEP_ALIVE,
    options: `${KEEP_ALIVE.options} ${UNLIMITED}`,
  });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('analyze account, queue, job, attempt, dead_letter, job_search');
  } finally {
    await client.end().catch(() => undefined);
  }
}
