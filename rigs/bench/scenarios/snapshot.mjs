import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { isFaultless, measureLoad } from '../measure/account.mjs';
import { cpuOf } from '../measure/processes.mjs';
import { median, round } from '../measure/statistics.mjs';
import { judged, short } from '../report/format.mjs';
import { notesOf } from '../report/noise.mjs';
import { promiseNote, verdict } from '../report/variants.mjs';
import { query } from '../stage/postgres.mjs';
import { jobferryOne, MAIN } from '../systems/jobferry.mjs';
import { acknowledged } from './ack.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';

const RATE = 300;
const WARM_UP_SECONDS = 30;
const SLICE_SECONDS = 60;
const BEFORE_MINUTES = 3;
/** The work that an ack ends. */
const WORK_MS = 50;
const BACKUP_GIB = 5;
const FILLER_BYTES = 4096;
const FILLERS_A_STATEMENT = 10_000;
/** Ratios to the minutes before, and the part of the load that must arrive in its minute. */
const AIM = { p50: 1.3, p99: 1.3, postgres: 1.2, arrived: 0.99 };

const start = { concurrency: 100 };
const VARIANTS = [
  { name: 'idle', label: 'an idle transaction', hold: holdIdle, start },
  { name: 'idle-ack', label: 'an idle transaction, ack mode', hold: holdIdle, start: { ...start, settings: { mode: 'ack' } }, isAck: true },
  { name: 'backup', label: `\`backup\` of ${BACKUP_GIB} GB`, hold: holdBackup, prepare: fill, start },
];

/** One process at a steady rate, while a snapshot is held. Once, for any number of rounds. */
export const snapshot = {
  about: `${RATE} jobs/s in one process while a snapshot is held for --minutes (10): an idle transaction, in both modes, and \`backup\`; --systems idle,idle-ack,backup`,
  async run(stage, options) {
    const chosen = VARIANTS.filter(({ name }) => options.systems?.includes(name) ?? true);
    const systems = chosen.map(({ start, ...variant }) => ({ ...jobferryOne, ...variant, plan: { start } }));
    const { turns } = await takeTurns(stage, systems, { rounds: 1, describe }, (running, variant) =>
      measure(stage, running, options, variant),
    );
    return { options: { ...options, rounds: 1 }, results: { turns }, tables: turns.map(table), faults: faultsOf(turns) };
  },
};

async function measure(stage, running, { minutes }, { hold, prepare, isAck = false }) {
  if (isAck) await stage.receiver.ask('acknowledge', { target: running.target, afterMs: WORK_MS });
  const finished = isAck ? () => acknowledged(stage, running) : undefined;
  const slice = async (seconds) => {
    const measured = await measureLoad(stage, running, { seconds, rate: RATE }, finished);
    return { ...measured, arrivedShare: round(seconds / measured.seconds, 4) };
  };
  await slice(WARM_UP_SECONDS);
  await prepare?.(running);
  const before = [];
  while (before.length < BEFORE_MINUTES) before.push(await slice(SLICE_SECONDS));
  const holder = await hold(stage, running);
  const during = [];
  while (during.length < minutes && !holder.hasEnded()) {
    during.push(await slice(SLICE_SECONDS));
    console.log(`  minute ${during.length}: ${line(during.at(-1))}`);
  }
  await holder.end();
  return { before, during };
}

function line({ arrival, cpuPerJob }) {
  return `p50 ${arrival.p50} p99 ${arrival.p99} ms, PostgreSQL ${Math.round(cpuPerJob.postgres)} µs a job`;
}

function describe({ before, during }) {
  return `before: ${line(before.at(-1))}; after ${during.length} minutes: ${line(during.at(-1))}`;
}

async function holdIdle(_stage, { databaseUrl }) {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'analyst' });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select count(*) from queue');
  return { hasEnded: () => false, end: () => client.end() };
}

/** It ends by itself, or after the minutes of the run. */
async function holdBackup(stage, { databaseUrl }) {
  const child = spawn(process.execPath, [MAIN, 'backup', join(stage.dataDir, 'all.backup')], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production', DATABASE_URL: databaseUrl, LOG_LEVEL: 'warn' },
  });
  const exited = once(child, 'exit');
  const helper = { cpu: () => cpuOf(child.pid), stop: () => child.kill() };
  stage.helpers.push(helper);
  return {
    hasEnded: () => child.exitCode !== null,
    async end() {
      if (child.exitCode === null) child.kill();
      await exited;
      if (child.exitCode > 0) throw new Error(`the backup ended with ${child.exitCode}`);
      stage.helpers = stage.helpers.filter((other) => other !== helper);
    },
  };
}

/** Jobs that are done, with payloads that hardly compress: copies of one that the warm-up has left. */
async function fill({ databaseUrl }) {
  const columns = await query(databaseUrl, `select attname as name from pg_attribute where attrelid = 'job'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`);
  const names = columns.map(({ name }) => name);
  const values = names.map((name) => ({ id: "lpad(to_hex(n), 24, '0')", payload: 'filler.text' })[name] ?? `job.${name}`);
  const statement = `
    insert into job (${names.join(', ')})
    select ${values.join(', ')}
    from (select * from job where status = 'completed' order by id desc limit 1) job, generate_series($1::integer, $2::integer) n,
         lateral (select '"' || string_agg(md5(n::text || ':' || part || random()), '') || '"' as text
                  from generate_series(1, ${FILLER_BYTES / 32}) part) filler`;
  const all = Math.ceil((BACKUP_GIB * 2 ** 30) / FILLER_BYTES);
  for (let n = 0; n < all; n += FILLERS_A_STATEMENT) {
    await query(databaseUrl, statement, [n + 1, Math.min(all, n + FILLERS_A_STATEMENT)]);
  }
  await query(databaseUrl, 'vacuum analyze job');
  await query(databaseUrl, 'checkpoint');
}

const FIGURES = {
  p50: ({ arrival }) => arrival.p50,
  p99: ({ arrival }) => arrival.p99,
  postgres: ({ cpuPerJob }) => cpuPerJob.postgres,
  publish: ({ publish }) => publish.p99,
};

function table({ system, before, during, check }) {
  const { label } = VARIANTS.find(({ name }) => name === system);
  const medians = (slices) => Object.fromEntries(Object.entries(FIGURES).map(([name, pick]) => [name, median(slices.map(pick))]));
  const base = medians(before);
  const row = (title, slices) => {
    const own = medians(slices);
    const beside = (name) => judged(own[name] / base[name], AIM[name], own[name] <= AIM[name] * base[name], '≤');
    const figure = (name) => (slices === before ? short(own[name]) : `${short(own[name])}, ${beside(name)}`);
    const arrived = Math.min(...slices.map(({ arrivedShare }) => arrivedShare));
    return [title, String(slices.reduce((sum, { jobs }) => sum + jobs, 0)), String(arrived), ...['p50', 'p99', 'postgres'].map(figure), short(own.publish)];
  };
  const rows = [row(`${before.length} minutes before`, before)];
  for (let first = 0; first < during.length; first += 5) {
    const slices = during.slice(first, first + 5);
    rows.push(row(`minutes ${first + 1} to ${first + slices.length}`, slices));
  }
  rows.push(row('all of them', during));
  const isKept = during.every(({ arrivedShare }) => arrivedShare >= AIM.arrived);
  return {
    title: `${RATE} jobs/s beside ${label}`,
    head: ['', 'jobs', 'least share of a minute that arrived in it', 'arrival p50 ms', 'arrival p99 ms', 'PostgreSQL µs per job', 'publish p99 ms'],
    rows,
    ...notesOf(
      [...before, ...during].map(({ cpuPerJob }) => cpuPerJob.others),
      promiseNote([{ check }]),
      `Aim: ${AIM.arrived * 100} % of each minute's load arrive in that minute: ${verdict(isKept && isFaultless(check))}. Medians of one-minute slices.`,
    ),
  };
}
