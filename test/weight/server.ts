import pg from 'pg';
import { startServer } from '../../rigs/chaos/server.ts';
import { atEndOfFile } from '../support/end-of-file.ts';

/**
 * Nothing is left to chance or time: no page is logged as a whole, and no process but those that are measured writes or
 * reads. Statements within functions are counted, too.
 */
const SETTINGS = [
  "shared_preload_libraries = 'pg_stat_statements'",
  'pg_stat_statements.track = all',
  'pg_stat_statements.track_planning = on',
  'full_page_writes = off',
  'fsync = off',
  'autovacuum = off',
  'checkpoint_timeout = 1h',
  'max_wal_size = 4GB',
];

export interface WeighingServer {
  /** @returns the address of a database with the schema, of its own */
  createDatabase(): Promise<string>;
}

/** A PostgreSQL server that counts, for one test file. */
export async function startWeighingServer(): Promise<WeighingServer> {
  const server = await startServer({ settings: SETTINGS });
  atEndOfFile(() => server.stop());
  const template = new URL(server.url);
  await onServer(template, [
    'create extension pg_stat_statements',
    'create extension pg_walinspect',
    'create schema weight',
    // Found before that of PostgreSQL. As an expression it is inlined, so it adds no statement.
    `create function weight.clock_timestamp() returns timestamptz language sql volatile as
       $$ select coalesce(nullif(current_setting('weight.now', true), '')::timestamptz, pg_catalog.clock_timestamp()) $$`,
  ]);
  let databases = 0;
  return {
    async createDatabase() {
      databases += 1;
      const name = `weight_${databases}`;
      const postgres = new URL(server.url);
      postgres.pathname = '/postgres';
      await onServer(postgres, [
        `create database ${name} template ${template.pathname.slice(1)}`,
        `alter database ${name} set search_path = weight, pg_catalog, public`,
      ]);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
  };
}

async function onServer(url: URL, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

export type Counters = Awaited<ReturnType<typeof openCounters>>;

/** The counters of a database, read by a session that is not counted. */
export async function openCounters(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  atEndOfFile(() => client.end());
  await client.query("set pg_stat_statements.track = 'none'");

  return {
    /**
     * Statements that sessions have sent (`calls`) and functions have executed (`nested`),
     * and how often any was planned.
     */
    async statements(): Promise<{ calls: number; nested: number; plans: number }> {
      const { rows } = await client.query(
        `select coalesce(sum(calls) filter (where toplevel), 0)::float8 as calls,
                coalesce(sum(calls) filter (where not toplevel), 0)::float8 as nested,
                coalesce(sum(plans), 0)::float8 as plans
           from pg_stat_statements(false) where dbid = (select oid from pg_database where datname = current_database())`,
      );
      return rows[0];
    },

    /** How often sessions have sent each statement so far. */
    async calls(): Promise<Map<string, number>> {
      const { rows } = await client.query(
        `select query, sum(calls)::float8 as calls from pg_stat_statements
          where toplevel and dbid = (select oid from pg_database where datname = current_database()) group by query`,
      );
      return new Map(rows.map(({ query, calls }) => [query, calls]));
    },

    async isCompleted(jobId: string): Promise<boolean> {
      const { rowCount } = await client.query("select from job where id = $1 and status = 'completed'", [jobId]);
      return rowCount === 1;
    },

    /** Rows written so far, by table. The measured session has to have reported them. */
    async rows(): Promise<Map<string, { inserted: number; updated: number; hot: number; deleted: number }>> {
      const { rows } = await client.query(
        `select relname as table, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated, n_tup_hot_upd::float8 as hot,
                n_tup_del::float8 as deleted
           from pg_stat_user_tables`,
      );
      return new Map(rows.map(({ table, ...written }) => [table, written]));
    },

    /** End of the log so far. */
    async logEnd(): Promise<string> {
      return (await client.query('select pg_current_wal_insert_lsn() as lsn')).rows[0].lsn;
    },

    /** Records of the log in between, without those that the server writes at times of its own. */
    async logged(from: string, to: string): Promise<{ records: number; bytes: number; entries: Map<string, number> }> {
      // Only what is on disk can be read. This commit brings all that was logged before it there.
      await client.query("select pg_logical_emit_message(true, 'weight', '')");
      const { rows } = await client.query(
        `select count(*)::float8 as records, sum(record_length)::float8 as bytes
           from pg_get_wal_records_info($1, $2) where resource_manager not in ('Standby', 'XLOG')`,
        [from, to],
      );
      const indexes = await client.query(
        `select c.relname as index, count(*)::float8 as entries
           from pg_get_wal_block_info($1, $2, false) b join pg_class c on pg_relation_filenode(c.oid) = b.relfilenode
          where resource_manager = 'Btree' and block_id = 0 and record_type in ('INSERT_LEAF', 'INSERT_POST', 'SPLIT_L', 'SPLIT_R')
          group by 1`,
        [from, to],
      );
      return { ...rows[0], entries: new Map(indexes.rows.map(({ index, entries }) => [index, entries])) };
    },
  };
}
