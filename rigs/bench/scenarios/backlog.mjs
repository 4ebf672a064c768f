import { cpuSample, difference, measurePublishing, perJob } from '../measure/account.mjs';
import { untilQuiet } from '../measure/quiet.mjs';
import { percentiles, round, spread } from '../measure/statistics.mjs';
import { judged, millis, rate } from '../report/format.mjs';
import { notesOf } from '../report/noise.mjs';
import { verdict } from '../report/variants.mjs';
import { query } from '../stage/postgres.mjs';
import { seedJobs } from '../stage/seed.mjs';
import { jobferry } from '../systems/jobferry.mjs';
import { startSystem } from './rounds.mjs';

const JOBS = 1_000_000;
/** Due jobs for a worker, more than it delivers in the time that it is given. */
const DUE = 20_000;
const WARM_UP_SECONDS = 2;
const LIST_RUNS = 40;
const AIM = 0.9;
/**
 * The block ranges of `attempt_timestamp_idx` are summarised by reading their 16 pages,
 * which counts as a sequential scan.
 */
const ROWS_OF_A_RANGE = 16 * 150;

export const backlog = scenario('1 M pending jobs: publish, claim and list beside an empty table', { delayed: false });
export const delayed = scenario('1 M delayed jobs: the same', { delayed: true });

function scenario(about, kind) {
  return { about, run: (stage, options) => run(stage, options, kind) };
}

/** Two databases side by side, each with an API process; one at a time is busy, and gets a worker while it delivers. */
async function run(stage, options, kind) {
  const sides = {};
  for (const name of ['empty', 'full']) {
    const databaseUrl = await stage.postgres.createDatabase(`bench_${name}`);
    const start = { workers: 0, database: `bench_${name}`, databaseUrl };
    const { running } = await startSystem(stage, jobferry, name, { start });
    sides[name] = running;
  }
  try {
    console.log(`seeding ${JOBS} jobs`);
    await fill(sides.full, JOBS, kind.delayed);
    for (const { databaseUrl } of Object.values(sides)) await query(databaseUrl, 'vacuum (analyze) job');
    await stage.postgres.checkpoint();
    const scansBefore = await scansOf(sides.full);
    await Promise.all(Object.values(sides).map((side) => measurePublishing(stage, side, { seconds: WARM_UP_SECONDS })));
    const rounds = [];
    for (let n = 1; n <= options.rounds; n += 1) rounds.push(await measureRound(stage, sides, options, n));
    const scans = difference(await scansOf(sides.full), scansBefore);
    const faults = rounds.flatMap((sample) => Object.values(sample)).flatMap(({ claim }) => (claim.duplicates === 0 ? [] : [`${claim.duplicates} duplicates`]));
    return { results: { rounds, scans }, tables: tables(rounds, scans, kind), faults };
  } finally {
    for (const side of Object.values(sides)) await side.stop();
  }
}

async function measureRound(stage, sides, options, n) {
  const sample = {};
  // The jobs that the previous round left.
  await query(sides.empty.databaseUrl, 'truncate job cascade');
  // In turns which comes first.
  const order = n % 2 === 1 ? ['empty', 'full'] : ['full', 'empty'];
  for (const name of order) {
    await untilQuiet(options.quietSeconds);
    const publish = await measurePublishing(stage, sides[name], { seconds: options.seconds });
    sample[name] = { publish, lists: await measureLists(sides[name]) };
    console.log(`round ${n}  ${name.padEnd(6)} publish ${publish.publishesPerSecond}/s, ${JSON.stringify(sample[name].lists)}`);
  }
  for (const name of order) {
    await fill(sides[name], DUE, false);
    await stage.postgres.checkpoint();
    await untilQuiet(options.quietSeconds);
    sample[name].claim = await measureClaims(stage, sides[name], name, options.seconds);
    console.log(`round ${n}  ${name.padEnd(6)} claim ${JSON.stringify(sample[name].claim)}`);
  }
  return sample;
}

async function fill(side, jobs, isDelayed) {
  await seedJobs(side.databaseUrl, { queueId: side.queues[0].id, first: side.published, jobs, delayed: isDelayed });
  side.published += jobs;
}

/** How fast a worker claims and delivers what is due. */
async function measureClaims(stage, side, name, seconds) {
  await stage.receiver.ask('begin', { name });
  await stage.receiver.ask('secrets', { secrets: side.secrets });
  const worker = await side.startWorker();
  await pause(WARM_UP_SECONDS);
  const [from, cpuBefore] = [await stage.receiver.ask('progress'), cpuSample(stage, side)];
  await pause(seconds);
  const [to, cpuAfter] = [await stage.receiver.ask('progress'), cpuSample(stage, side)];
  await worker.stop();
  const jobs = to.distinct - from.distinct;
  const { distinct, requests } = await stage.receiver.ask('progress');
  return {
    jobs,
    jobsPerSecond: round((jobs * 1000) / (to.now - from.now), 1),
    cpuPerJob: perJob(difference(cpuAfter, cpuBefore), jobs),
    duplicates: requests - distinct,
  };
}

const LISTS = {
  'first page': '?limit=25',
  'first page of what is pending': '?limit=25&status=pending',
  'page 1000': '?limit=25&page=1000',
};

async function measureLists(side) {
  const figures = {};
  for (const [what, parameters] of Object.entries(LISTS)) {
    const times = [];
    for (let n = 0; n < LIST_RUNS; n += 1) {
      const startedAt = performance.now();
      await side.rest('GET', `/v1/queues/${side.queues[0].id}/jobs${parameters}`);
      times.push(performance.now() - startedAt);
    }
    figures[what] = percentiles(times);
  }
  return figures;
}

/** Sequential scans of the tables that grow, and the rows that these read. */
async function scansOf({ databaseUrl }) {
  const rows = await query(
    databaseUrl,
    `select relname, seq_scan, seq_tup_read from pg_stat_user_tables where relname in ('job', 'attempt')`,
  );
  return Object.fromEntries(
    rows.flatMap(({ relname, seq_scan, seq_tup_read }) => [
      [`${relname} scans`, Number(seq_scan)],
      [`${relname} rows`, Number(seq_tup_read)],
    ]),
  );
}

function tables(rounds, scans, kind) {
  const of = (name, pick) => spread(rounds.map((sample) => pick(sample[name])));
  const rates = [
    ['publish, jobs/s', (side) => side.publish.publishesPerSecond],
    ['claim and deliver, jobs/s', (side) => side.claim.jobsPerSecond],
  ].map(([what, pick]) => {
    const [empty, full] = [of('empty', pick), of('full', pick)];
    const ratio = full.median / empty.median;
    return [what, rate(empty), rate(full), judged(ratio, AIM, ratio >= AIM, '≥')];
  });
  const times = [
    ['publish, CPU µs per job', (side) => side.publish.cpuPerJob.system],
    ['claim and deliver, CPU µs per job', (side) => side.claim.cpuPerJob.system],
    ['publish p99, ms', (side) => side.publish.publish.p99],
    ...Object.keys(LISTS).map((what) => [`list, ${what}, p50 ms`, (side) => side.lists[what].p50]),
  ].map(([what, pick]) => {
    const [empty, full] = [of('empty', pick), of('full', pick)];
    return [what, millis(empty), millis(full), judged(full.median / empty.median)];
  });
  const title = `1 M ${kind.delayed ? 'delayed' : 'pending'} jobs in one queue`;
  const rowsPerScan = Math.round(scans['attempt rows'] / Math.max(1, scans['attempt scans']));
  const isScanned = scans['job scans'] > 0 || rowsPerScan > ROWS_OF_A_RANGE;
  const note =
    `Aim: no sequential scan: ${verdict(!isScanned)}. With 1 M jobs, job was scanned ${scans['job scans']} times; of attempt ` +
    `${scans['attempt scans']} ranges of ${rowsPerScan} rows were read to index their time.`;
  const busy = rounds.flatMap((sample) => Object.values(sample)).flatMap(({ publish, claim }) => [publish, claim]);
  return [{ title, head: ['What', 'empty table', '1 M jobs', 'ratio'], rows: [...rates, ...times], ...notesOf(busy.map(({ cpuPerJob }) => cpuPerJob.others), note) }];
}

function pause(seconds) {
  return new Promise((resolve) => setTimeout(resolve, seconds * 1000));
}
