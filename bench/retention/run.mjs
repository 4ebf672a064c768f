// What it costs to remove jobs past retention: by deletes, as the service does, or by dropping partitions.
//
//   npm run build && node bench/retention/run.mjs [rows]     3000000 by default, in about 12 minutes
//
// A server of its own, with the embedded one's settings. Jobs and attempts of 72 hours are seeded, a few rows and all of
// them, into tables as they are and into ones partitioned by time. Then one connection publishes, claims and
// settles in batches of 40, alone and beside what removes. Needs Linux. Prints one JSON object and Markdown tables.
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { migrate } from '../../dist/db/connection/migrate.js';
import { installWakeUps } from '../../dist/worker/wake-ups/runner.js';
import { cpuOfMachine } from '../measure/processes.mjs';
import { round } from '../measure/statistics.mjs';
import { flushMs } from '../stage/disk.mjs';
import { startPostgres } from '../stage/postgres.mjs';
import { newRecord, openLoad, summary } from './load.mjs';
import { partitioned, SWEEP_KEYS } from './partitions.mjs';
import { connect, seedHistory } from './seed.mjs';
import { openSweep, sweepSummary } from './sweep.mjs';
import { tablesOf } from './tables.mjs';

const rows = Number(process.argv[2] ?? 3_000_000);
const isTrial = rows < 1_000_000;
const SECONDS = isTrial ? 0.5 : 8;
const ROUNDS = isTrial ? 1 : 2;
const WARM_UP_JOBS = isTrial ? 400 : 4000;
/** Dead rows of which autovacuum of the embedded server begins. */
const VACUUM_SHARE = 0.05;
const CYCLES = 5;
/** Of six hours each, and of one. */
const PARTITIONS = [12, 72];
const SMALL = Math.min(rows / 10, 300_000);
/** What a partition costs does not depend on how many rows the others have. */
const PARTITIONED = Math.min(rows, 3_000_000);
const quiet = { info: () => undefined, warn: () => undefined };

const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-bench-retention-'));
const flush = await flushMs(dataDir);
const server = await startPostgres(dataDir);
try {
  const startedAt = performance.now();
  const template = await server.createDatabase('template');
  await migrate({ url: template, log: quiet, afterMigrations: () => installWakeUps(template) });
  const results = {
    at: new Date().toISOString(),
    machine: { cpu: cpus()[0].model, cpus: availableParallelism(), node: process.version, postgres: server.settings, flushMs: flush },
    rows,
    small: { rows: SMALL, deletes: await measureSmall(), partitions: {} },
    large: { rows, deletes: await measureLarge(), partitions: {} },
  };
  for (const count of PARTITIONS) results.small.partitions[count] = await measureSmall(partitioned(count));
  results.large.partitions[PARTITIONS[0]] = await measureLargePartitions(partitioned(PARTITIONS[0]));
  results.seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(JSON.stringify(results));
  console.log(`\n${tablesOf(results)}`);
} finally {
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
}

async function measureSmall(partitions) {
  const documents = partitions === undefined;
  return inDatabase({ jobs: SMALL, documents, partitions }, async (opened) => {
    const { history, client, load, sweep } = opened;
    const sweepAlone = partitions ? undefined : await measureSweep({ history, client, sweep, documents });
    // They would be swept below in one variant only.
    await client.query('truncate job_search');
    await load.run({ jobs: WARM_UP_JOBS });
    const alone = await metered(client, () => load.run({ seconds: SECONDS }), summary);
    const keyed = await metered(client, () => load.run({ seconds: SECONDS, keyed: true }), summary);
    const removeKeys = partitions && (await metered(client, () => sweepKeys(client), (removed) => ({ removed }), (removed) => removed));
    const isCycled = partitions === undefined || partitions.count === PARTITIONS[0];
    const cycles = isCycled ? await measureCycles({ ...opened, partitions, removed: sweepAlone?.upTo ?? 0 }) : undefined;
    return { sweepAlone, alone, keyed, removeKeys, cycles };
  });
}

/** Five times a fifth of the table is published and a fifth removed, so that in the end all rows are others. */
async function measureCycles({ history, client, load, sweep, partitions, removed }) {
  const perCycle = Math.floor((history.jobs - removed) / CYCLES);
  const states = [await sizesOf(client)];
  const record = newRecord();
  let removeMs = 0;
  const work = async () => {
    for (let cycle = 1; cycle <= CYCLES; cycle += 1) {
      await load.run({ jobs: perCycle, record });
      removeMs += await timed(async () => {
        if (!partitions) return sweep.run({ jobs: removed + cycle * perCycle });
        const until = Math.round((partitions.count * cycle) / CYCLES) - Math.round((partitions.count * (cycle - 1)) / CYCLES);
        for (let n = 0; n < until; n += 1) await partitions.dropOldest(client);
      });
      states.push(await sizesOf(client));
    }
    return record;
  };
  return { ...(await metered(client, work, summary)), removeMs: round(removeMs), states };
}

async function measureLarge() {
  return inDatabase({ jobs: rows }, async ({ url, history, client, load, sweep, seedSeconds }) => {
    const sizes = await sizesOf(client);
    const sweepAlone = await measureSweep({ history, client, sweep });
    await load.run({ jobs: WARM_UP_JOBS });
    const [alone, beside] = [newRecord(), newRecord()];
    const removed = { jobs: 0, seconds: 0 };
    const cpu = { alone: 0, beside: 0 };
    for (let n = 1; n <= ROUNDS; n += 1) {
      const before = server.cpu();
      await load.run({ seconds: SECONDS, record: alone });
      const between = server.cpu();
      cpu.alone += between - before;
      let isOver = false;
      const [swept] = await Promise.all([
        sweep.run({ jobs: rows * 0.6, isOver: () => isOver }),
        load.run({ seconds: SECONDS, record: beside }).then(() => { isOver = true; }),
      ]);
      cpu.beside += server.cpu() - between;
      removed.jobs += swept.removed['sweep-jobs'];
      removed.seconds += swept.seconds;
    }
    const withServer = (record, us) => ({ ...summary(record), serverCpuPerJob: round(us / record.jobs, 1) });
    return {
      seedSeconds, sizes, sweepAlone,
      alone: withServer(alone, cpu.alone),
      besideSweep: { ...withServer(beside, cpu.beside), removedPerSecond: Math.round(removed.jobs / removed.seconds), sweptSeconds: round(removed.seconds) },
      oldSnapshot: await measureOldSnapshot({ url, history, client, sweep }),
      after: await sizesOf(client),
    };
  });
}

async function measureLargePartitions(partitions) {
  return inDatabase({ jobs: PARTITIONED, partitions }, async ({ url, client, load, seedSeconds }) => {
    await load.run({ jobs: WARM_UP_JOBS });
    const alone = await metered(client, () => load.run({ seconds: SECONDS }), summary);
    const drop = await timedDrop(client, () => partitions.dropOldest(client));
    const detach = await timedDrop(client, () => partitions.detachOldest(client));
    const beside = {};
    for (const [name, removeOne] of [['drop', () => partitions.dropOldest(client)], ['detach', () => partitions.detachOldest(client)]]) {
      const reader = await connect(url);
      const record = newRecord();
      const loading = load.run({ seconds: isTrial ? 1 : 4, record });
      await pause(isTrial ? 100 : 1000);
      // A dashboard's search, or a dump, that reads for a while.
      await reader.query('begin');
      await reader.query('select from job limit 1');
      const removing = timed(removeOne);
      await pause(isTrial ? 300 : 2000);
      await reader.query('commit');
      const ms = await removing;
      await loading;
      await reader.end();
      beside[name] = { ms, batch: summary(record).ms.batch };
    }
    return { seedSeconds, rowsPerPartition: Math.round(PARTITIONED / partitions.count), alone, drop, detach, besideReader: beside };
  });
}

async function inDatabase({ jobs, documents = false, partitions }, work) {
  const url = await server.createDatabase('retention', 'template');
  const seedingAt = performance.now();
  const history = await seedHistory(url, { jobs, documents, prepare: partitions?.prepare });
  const seedSeconds = round((performance.now() - seedingAt) / 1000, 1);
  console.error(`${jobs} jobs in ${partitions ? `${partitions.count} partitions` : 'a table'}: seeded in ${seedSeconds} s`);
  await server.checkpoint();
  const [client, load, sweep] = [await connect(url), await openLoad(url, history.queues[0]), openSweep(url, history)];
  try {
    const startedAt = performance.now();
    const result = await work({ url, history, client, load, sweep, seedSeconds });
    console.error(`  measured in ${round((performance.now() - startedAt) / 1000, 1)} s`);
    return result;
  } finally {
    for (const opened of [client, load, sweep]) await (opened.close?.() ?? opened.end());
    await server.dropDatabase('retention');
  }
}

/**
 * As many rows as call for a vacuum, then that vacuum: so what both cost together is what a job costs for good.
 * Documents are told apart: they are in a table of their own, which partitions of jobs would not change.
 */
async function measureSweep({ history, client, sweep, documents = false }) {
  const tables = documents ? ['job', 'attempt', 'job_search'] : ['job', 'attempt'];
  for (const table of tables) await client.query(`alter table ${table} set (autovacuum_enabled = off)`);
  const upTo = Math.floor(history.jobs * VACUUM_SHARE);
  const result = { upTo };
  for (const [name, only] of [['jobs', 'sweep-jobs'], ...(documents ? [['documents', 'sweep-search-documents']] : [])]) {
    await server.checkpoint();
    result[name] = await metered(client, () => sweep.run({ jobs: upTo, only }), (record) => sweepSummary(record, only), (record) => record.removed[only]);
  }
  const removed = result.jobs.removed;
  result.vacuum = {};
  for (const table of tables) {
    result.vacuum[table] = await metered(client, () => client.query(`vacuum ${table}`), () => ({}), () => removed);
    await client.query(`alter table ${table} reset (autovacuum_enabled)`);
  }
  return result;
}

/** A dump, or a forgotten transaction: rows that are removed must stay for it, and so do their index entries. */
async function measureOldSnapshot({ url, history, client, sweep }) {
  const result = {};
  for (const [name, alwaysFromStart] of [['fromStart', true], ['fromPosition', false]]) {
    await client.query('vacuum job, attempt');
    const reader = await connect(url);
    await reader.query('begin isolation level repeatable read');
    await reader.query('select from account');
    const record = await metered(client, () => sweep.run({ jobs: rows, seconds: isTrial ? 0.5 : 12, only: 'sweep-jobs', alwaysFromStart }), sweepSummary, ({ removed }) => removed['sweep-jobs']);
    result[name] = record;
    await reader.end();
  }
  return result;
}

async function sweepKeys(client) {
  const { rows: bounds } = await client.query('select jobferry_id() as now');
  let removed = 0;
  for (;;) {
    const { rowCount } = await client.query(SWEEP_KEYS, [bounds[0].now]);
    removed += rowCount;
    if (rowCount === 0) return removed;
  }
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return round(performance.now() - startedAt, 1);
}

async function timedDrop(client, work) {
  return metered(client, () => timed(work), (ms) => ({ ms }), () => 1);
}

/** What the server spent and wrote: per job of the work, or per `units` of it. */
async function metered(client, work, toSummary, units = ({ jobs }) => jobs) {
  const walNow = async () => Number((await client.query(`select pg_current_wal_insert_lsn() - '0/0' as bytes`)).rows[0].bytes);
  const [wal, cpu, machine, startedAt] = [await walNow(), server.cpu(), cpuOfMachine(), performance.now()];
  const own = process.cpuUsage();
  const result = await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const used = server.cpu() - cpu;
  const { user, system } = process.cpuUsage(own);
  const others = Math.max(0, cpuOfMachine() - machine - used - user - system) / 1e6 / seconds;
  const count = Math.max(1, units(result));
  return {
    ...toSummary(result),
    seconds: round(seconds),
    serverCpuPerJob: round(used / count, 1),
    walPerJob: Math.round(((await walNow()) - wal) / count),
    others: round(others),
  };
}

/** In MB, with all partitions; rows that are dead, and how often autovacuum has been there. */
async function sizesOf(client) {
  const { rows: tables } = await client.query(
    `select root as table, sum(pg_table_size(relid)) / 1048576 as heap, sum(pg_indexes_size(relid)) / 1048576 as indexes,
            sum(pg_stat_get_dead_tuples(relid)) as dead, sum(pg_stat_get_autovacuum_count(relid)) as vacuums
       from unnest(array['job', 'attempt']) root,
            lateral (select root::regclass as relid union select p.relid from pg_partition_tree(root::regclass) p) part
      group by 1 order by 1 desc`,
  );
  return Object.fromEntries(
    tables.map(({ table, ...figures }) => [table, Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Math.round(Number(value))]))]),
  );
}
