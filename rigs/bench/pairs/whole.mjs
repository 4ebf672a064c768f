// Both builds at once, each an API process, a worker process and a database server of its own,
// fed in turn by one publisher.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isFaultless, measureLoad, verify } from '../measure/account.mjs';
import { openStage } from '../stage/stage.mjs';
import { startPostgres } from '../stage/postgres.mjs';
import { jobferry } from '../systems/jobferry.mjs';
import { orderOf } from './judge.mjs';
import { nameOf } from './report.mjs';

/** Until the compilers have done their work: as many for both builds. */
const WARM_UP_JOBS = 6000;

/**
 * @param builds `{ new, old }`
 * @param rates jobs per second of each set of pairs; null: as many as there can be
 * @returns for each rate the pairs: what a slice of each build cost per job, and how fast it was; and `all`: what a job
 * of each build cost in the end, with its payload indexed and everything that the processes did between their slices
 */
export async function wholePairs(builds, { pairs, seconds, rates }) {
  const stage = await openStage({ profile: false });
  const otherDir = await mkdtemp(join(tmpdir(), 'jobferry-bench-pg-'));
  const servers = { new: stage.postgres };
  const running = {};
  let closed = null;
  const close = () => {
    closed ??= closeAll(stage, servers, running).then(() => rm(otherDir, { recursive: true, force: true }));
    return closed;
  };
  // The database servers are no children of this process and would stay.
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => close().finally(() => process.exit(1)));
  try {
    // A server each, so that its CPU belongs to one build.
    servers.old = await startPostgres(otherDir);
    const webhookUrl = await stage.receiver.ask('begin', { name: 'pairs' });
    for (const [side, postgres] of Object.entries(servers)) {
      running[side] = await jobferry.start({ postgres, options: stage.options }, { webhookUrl, main: join(builds[side].dist, 'main.js') });
    }
    return await takeTurns(stage, running, { pairs, seconds, rates });
  } finally {
    await close();
  }
}

async function closeAll(stage, servers, running) {
  for (const one of Object.values(running)) await one.stop();
  await servers.old?.stop();
  stage.helpers = [];
  await stage.close();
}

async function takeTurns(stage, running, { pairs, seconds, rates }) {
  // The numbers of jobs go on from slice to slice: the receiver knows a job by its number only.
  const load = { published: 0, accepted: 0, records: [] };
  const slice = (side, limits) => measureSlice(stage, load, running[side], running[side === 'new' ? 'old' : 'new'], limits);
  for (const side of orderOf(0)) await slice(side, { count: WARM_UP_JOBS });
  const settled = () => Promise.all(Object.values(running).map((one) => one.settled()));
  const found = [];
  for (const rate of rates) {
    await settled();
    const before = { new: cpuOfAll(running.new), old: cpuOfAll(running.old) };
    const done = [];
    for (let n = 0; n < pairs; n += 1) {
      const pair = {};
      for (const side of orderOf(n)) pair[side] = await slice(side, { seconds, rate });
      done.push(pair);
      console.log(`${nameOf(rate)}, pair ${n + 1}: ${sentenceOf(pair)}`);
    }
    await settled();
    const inTheEnd = (side) => (cpuOfAll(running[side]) - before[side]) / done.reduce((sum, pair) => sum + pair[side].jobs, 0);
    found.push({ rate, pairs: done, all: { new: inTheEnd('new'), old: inTheEnd('old') } });
  }
  const check = await verify(stage, load);
  if (!isFaultless(check)) throw new Error(`jobs were lost or delivered twice: ${JSON.stringify(check)}`);
  return found;
}

function sentenceOf({ new: ours, old: theirs }) {
  return `${ours.total} µs beside ${theirs.total}, other programs ${Math.round(Math.max(ours.others, theirs.others) * 100)} % of a CPU`;
}

/**
 * Some seconds after a slice its payloads are indexed, beside a slice of the other build.
 * This is counted at the end only.
 */
async function measureSlice(stage, load, one, idle, limits) {
  Object.assign(load, { target: one.target, cpu: one.cpu });
  stage.helpers = [{ cpu: () => cpuOfAll(idle), stop: () => undefined }];
  await stage.receiver.ask('secrets', { secrets: one.secrets });
  const { cpuPerJob, jobs, jobsPerSecond, publish, arrival } = await measureLoad(stage, load, limits);
  const { system: total, api, worker, postgres, others, stolen } = cpuPerJob;
  return { jobs, total, api, worker, postgres, jobsPerSecond, publish, arrival, others, stolen };
}

function cpuOfAll(running) {
  return Object.values(running.cpu()).reduce((sum, cpu) => sum + cpu, 0);
}
