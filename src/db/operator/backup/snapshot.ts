import type pg from 'pg';
import type { Address } from '../../connection/address.ts';
import type { Database } from '../../connection/database.ts';
import { finishedMigrations } from '../../schema/migrations.ts';
import { inSession } from '../session.ts';
import {
  ACCOUNTS,
  BACKED_UP,
  type BackedUpTable,
  JOBS,
  OF_ACCOUNT,
  OF_JOBS,
  OF_QUEUE,
  QUEUES,
  RECEIPTS,
  RECENT_COMPLETED,
  RECENT_STATS,
} from './tables.ts';

/** Rows of one statement. */
const ROWS = 500;
/** Characters of payloads and answers of one statement, unless one job has more. */
const CHARACTERS = 4 * 1024 * 1024;
/**
 * Each page is read by an index. Planners take the whole of a table of 20 000 jobs for cheaper than 500 look-ups in it
 * (PostgreSQL 15 to 17), and read it again for each page. A plan that has to scan looks expensive enough to be compiled
 * then.
 */
const BY_INDEX = 'set local enable_seqscan = off; set local jit = off';

interface BackupRow {
  table: string;
  /** The row as PostgreSQL writes it. */
  json: string;
  /** Id of the key that its payload is encrypted with. */
  key?: string | null;
}

/** The rows of a database at one moment, read in small statements. */
export class Snapshot {
  readonly #client: pg.Client;
  /** Up to where the statistics have all attempts. */
  readonly #statisticsUntil: Date;
  /** Time of the snapshot. */
  readonly madeAt: Date;
  /** Queues with attempts that the statistics do not have yet. */
  readonly #behind: ReadonlySet<string>;

  private constructor(client: pg.Client, facts: { madeAt: Date; statisticsUntil: Date }, behind: ReadonlySet<string>) {
    this.#client = client;
    this.madeAt = facts.madeAt;
    this.#statisticsUntil = facts.statisticsUntil;
    this.#behind = behind;
  }

  /** Calls `work` with a snapshot. It holds no lock that claims, publishes or settles wait for. */
  static async take<T>(
    { db, url, retentionMs }: { db: Database; url: Address; retentionMs: number },
    work: (snapshot: Snapshot) => Promise<T>,
  ): Promise<T> {
    return inSession({ db, url, name: 'jobferry backup' }, async (client) => {
      await client.query(`begin transaction isolation level repeatable read, read only; ${BY_INDEX}`);
      const { rows } = await client.query<{ madeAt: Date; statisticsUntil: Date }>(
        `select jobferry_now() as "madeAt", jobferry_stats_until($1 * interval '1 ms') as "statisticsUntil"`,
        [retentionMs],
      );
      const [facts] = rows;
      if (facts === undefined) throw new Error('the database returned no time');
      const behind = await client.query<{ id: string }>(
        'select distinct queue_id as id from attempt where "timestamp" >= $1',
        [facts.statisticsUntil],
      );
      return work(new Snapshot(client, facts, new Set(behind.rows.map(({ id }) => id))));
    });
  }

  async migrations(): Promise<string[]> {
    return [...(await finishedMigrations(this.#client))].sort();
  }

  /** Columns of the tables of a backup. */
  async columns(): Promise<Record<string, string[]>> {
    const { rows } = await this.#client.query<{ table: string; columns: string[] }>(
      `select table_name as "table", array_agg(column_name::text order by ordinal_position) as columns
         from information_schema.columns where table_schema = current_schema() and table_name = any ($1) group by 1`,
      [BACKED_UP.map(({ name }) => name)],
    );
    return Object.fromEntries(rows.map(({ table, columns }) => [table, columns]));
  }

  /** Ids of the keys that signing secrets are encrypted with, and whether a live queue encrypts its payloads. */
  async encryption(accountId: string | null): Promise<{ keys: string[]; encrypts: boolean }> {
    const { rows } = await this.#client.query<{ keys: string[] | null; encrypts: boolean | null }>(
      `with secret(stored) as (
         select unnest(array[signing_secret, next_signing_secret]) from queue where $1::text is null or account_id = $1
         union all
         select signing_secret from alert_rule where $1::text is null or account_id = $1
       )
       select (select array_agg(distinct split_part(stored, ':', 3)) from secret where starts_with(stored, 'enc:')) as keys,
              (select bool_or(payloads_encrypted and deleted_at is null) from queue
                where $1::text is null or account_id = $1) as encrypts`,
      [accountId],
    );
    return { keys: rows[0]?.keys ?? [], encrypts: rows[0]?.encrypts ?? false };
  }

  /** All rows of an account, or of all accounts. */
  async *rows(accountId: string | null): AsyncGenerator<BackupRow> {
    const accounts = accountId === null ? this.#all(ACCOUNTS) : this.#one(ACCOUNTS, accountId);
    for await (const row of accounts) {
      yield row;
      yield* this.#ofAccount(row.id);
    }
    yield* accountId === null ? this.#all(RECEIPTS) : this.#one(RECEIPTS, accountId);
  }

  async *#ofAccount(accountId: string): AsyncGenerator<BackupRow> {
    for await (const row of this.#of(QUEUES, 'account_id', accountId)) {
      yield row;
      for (const table of OF_QUEUE) yield* this.#of(table, 'queue_id', row.id);
      if (this.#behind.has(row.id)) yield* this.#recentStatistics(row.id);
      yield* this.#jobs(row.id);
    }
    for (const table of OF_ACCOUNT) yield* this.#of(table, 'account_id', accountId);
  }

  async *#jobs(queueId: string): AsyncGenerator<BackupRow> {
    for (let after = '', ids: string[] = []; ; after = ids.at(-1) ?? '') {
      const { rows } = await this.#client.query<{ json: string; id: string; key: string | null }>(JOB_PAGE, [
        queueId,
        after,
      ]);
      if (rows.length === 0) return;
      for (const { json, key } of rows) yield { table: JOBS.name, json, key };
      ids = rows.map(({ id }) => id);
      for (const table of OF_JOBS) yield* this.#pages(table, `t.job_id = any ($1)`, table.key, ids);
    }
  }

  /** Rows that the statistics lack. */
  async *#recentStatistics(queueId: string): AsyncGenerator<BackupRow> {
    for (const [table, text] of RECENT_STATISTICS) {
      const { rows } = await this.#client.query<{ json: string }>(text, [this.#statisticsUntil, queueId]);
      for (const { json } of rows) yield { table, json };
    }
  }

  #all(table: BackedUpTable) {
    return this.#pages(table, '$1::text is null', table.key, null);
  }

  #one(table: BackedUpTable, id: string) {
    return this.#pages(table, `t.${table.key[0]?.[0]} = $1`, table.key, id);
  }

  /**
   * Rows whose first key column has the value. The range of two columns makes the planner use the index that begins
   * with the first one; with "account_id = $1" it could read the primary key, which has the rows of all accounts.
   */
  #of(table: BackedUpTable, column: string, id: string) {
    return this.#pages(table, `t.${column} <= $1`, [[column, 'text', id], ...table.key], id);
  }

  async *#pages(
    { name }: BackedUpTable,
    condition: string,
    key: BackedUpTable['key'],
    scope: string | string[] | null,
  ): AsyncGenerator<BackupRow & { id: string }> {
    const columns = key.map(([column]) => `t.${column}`);
    const text = `
      select row_to_json(t)::text as json, array[${columns.map((column) => `${column}::text`).join(', ')}] as position
        from ${name} t
       where ${condition} and (${columns.join(', ')}) > (${key.map(([, type], n) => `$${n + 2}::${type}`).join(', ')})
       order by ${columns.join(', ')} limit ${ROWS}`;
    for (let after = key.map(([, , lowest]) => lowest); ; ) {
      const { rows } = await this.#client.query<{ json: string; position: string[] }>(text, [scope, ...after]);
      for (const { json, position } of rows) yield { table: name, json, id: position.at(-1) ?? '' };
      if (rows.length < ROWS) return;
      after = rows.at(-1)?.position ?? after;
    }
  }
}

// The size of a text is known without reading it, so a page of large payloads is short.
const JOB_PAGE = `
  with next as materialized (
    select j.id, octet_length(j.payload) + coalesce(octet_length(j.answer_body), 0) as size
      from job j where (j.queue_id, j.id) > ($1, $2) and j.queue_id <= $1
     order by j.queue_id, j.id limit ${ROWS}
  ), page as materialized (
    select id, row_number() over before as n, sum(size) over before as total from next window before as (order by id)
  )
  select row_to_json(j)::text as json, j.id, j.payload_key as key
    from page join job j on j.id = page.id where page.n = 1 or page.total <= ${CHARACTERS} order by j.id`;

const RECENT_STATISTICS: readonly (readonly [table: string, text: string])[] = [
  [
    RECENT_STATS.name,
    `select row_to_json(s)::text as json from jobferry_attempt_stats($1, 'infinity', array[$2]::text[]) s`,
  ],
  [
    RECENT_COMPLETED.name,
    `select row_to_json(c)::text as json
       from (select queue_id, jobferry_bucket(jobferry_created_at(job_id)) as created_bucket, count(*)::integer as completed
               from attempt, jobferry_stats_counted() counted
              where "timestamp" >= $1 and queue_id = $2 and status = 'success'
                and (counted is null or not jobferry_is_counted("timestamp", attempt.xmin, counted)) group by 1, 2) c`,
  ],
];
