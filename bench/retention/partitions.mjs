import { RETENTION_MS } from './seed.mjs';

/** Partitions kept ready for what comes. */
const AHEAD = 2;

/**
 * Turns the empty tables job and attempt into ones partitioned by ranges of ids, which are ranges of time; returns
 * what drops the oldest. What stands in the way goes:
 * - idempotency keys are unique per queue, not per queue and time: they move to a table of their own, job_key;
 * - the foreign key of dead letters would have to be checked, by reading all of them, before a partition can go.
 */
export function partitioned(count) {
  const widthMs = RETENTION_MS / count;
  let startedAt;
  let [oldest, next] = [0, 0];
  const nameOf = (table, n) => `${table}_${n}`;
  const bound = (n) => new Date(startedAt + n * widthMs).toISOString();

  /** Attached and not made as a partition, because that would lock out everybody. */
  async function create(client) {
    const { rows } = await client.query('select jobferry_first_id($1) as from, jobferry_first_id($2) as to', [bound(next), bound(next + 1)]);
    for (const [table, storage] of [['job', 'with (fillfactor = 85)'], ['attempt', '']]) {
      const name = nameOf(table, next);
      await client.query(`create table ${name} (like ${table} including defaults including constraints) ${storage}`);
      await client.query(`alter table ${table} attach partition ${name} for values from ('${rows[0].from}') to ('${rows[0].to}')`);
    }
    next += 1;
  }

  return {
    count,
    /** While the tables have no rows, and no indexes but their primary keys. */
    async prepare(client, at) {
      startedAt = at;
      await client.query('alter table dead_letter drop constraint dead_letter_job_id_fkey');
      for (const [table, key] of [['job', 'id'], ['attempt', 'job_id']]) {
        await client.query(`alter table ${table} rename to old_${table}`);
        await client.query(
          `create table ${table} (like old_${table} including defaults including constraints) partition by range (${key})`,
        );
        await client.query(`drop table old_${table}`);
      }
      await client.query('alter table job add constraint job_pkey primary key (id)');
      await client.query('alter table attempt add constraint attempt_pkey primary key (job_id, ordinal)');
      await client.query(KEYS);
      const { rows } = await client.query(`select pg_get_functiondef('jobferry_publish'::regproc) as definition`);
      await client.query(withKeyTable(rows[0].definition));
      while (next < count + AHEAD) await create(client);
    },
    /** Removes the oldest, and makes one for what comes. */
    async dropOldest(client) {
      await create(client);
      const [job, attempt] = [nameOf('job', oldest), nameOf('attempt', oldest)];
      oldest += 1;
      await client.query(`drop table ${job}, ${attempt}`);
    },
    /** The same without waiting for, and standing in the way of, those who use the tables. */
    async detachOldest(client) {
      await create(client);
      for (const table of ['job', 'attempt']) {
        await client.query(`alter table ${table} detach partition ${nameOf(table, oldest)} concurrently`);
        await client.query(`drop table ${nameOf(table, oldest)}`);
      }
      oldest += 1;
    },
  };
}

const KEYS = `
  create table job_key (
    queue_id text collate "C" not null,
    key      text collate "C" not null,
    job_id   text collate "C" not null,
    primary key (queue_id, key)
  );
  create index job_key_job_id_idx on job_key (job_id)`;

/** Keys leave with the jobs, but by deletes. */
export const SWEEP_KEYS = `
  delete from job_key where job_id = any (array(
    select job_id from job_key where job_id < $1 order by job_id limit 500 for update skip locked))`;

/** jobferry_publish with the keys in job_key. */
function withKeyTable(definition) {
  const changes = [
    [
      /update job set idempotency_key = null[\s\S]*?for update of j\);/,
      `delete from job_key where (queue_id, key) in (
         select k.queue_id, k.key from json_to_recordset(p_items) as i("accountId" text, "queue" text, "key" text)
           join queue q on q.account_id = i."accountId" and q.name = i."queue" and q.deleted_at is null
           join job_key k on k.queue_id = q.id and k.key = i."key"
          where i."key" is not null and k.job_id <= jobferry_first_id(v_now - p_retention)
          order by k.queue_id, k.key for update of k);`,
    ],
    [
      'from item join job j on j.queue_id = item.queue_id and j.idempotency_key = item."key"',
      'from item join job_key k on k.queue_id = item.queue_id and k.key = item."key" join job j on j.id = k.job_id',
    ],
    [
      '), created as (',
      `), taken as (
         insert into job_key (queue_id, key, job_id)
         select queue_id, "key", id from item
          where "key" is not null and queue_id is not null and n not in (select n from existing)
            and n not in (select n from refused) and is_sealed_right
          order by queue_id, "key", n
             on conflict do nothing
         returning job_id
       ), created as (`,
    ],
    ['and is_sealed_right\n     order by queue_id, "key", n', 'and is_sealed_right and ("key" is null or id in (select job_id from taken))\n     order by n'],
    ['on conflict (queue_id, idempotency_key) where idempotency_key is not null do nothing', ''],
  ];
  return changes.reduce((text, [from, to]) => {
    const changed = text.replace(from, () => to);
    if (changed === text) throw new Error(`jobferry_publish has changed: no ${from}`);
    return changed;
  }, definition);
}
