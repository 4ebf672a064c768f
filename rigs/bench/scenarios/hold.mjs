import { setTimeout as pause } from 'node:timers/promises';
import { cpuSample, difference, measureLoad, measurePublishing, perJob } from '../measure/account.mjs';
import { round, spread } from '../measure/statistics.mjs';
import { judged, rate } from '../report/format.mjs';
import { notesOf } from '../report/noise.mjs';
import { promiseNote, verdict } from '../report/variants.mjs';
import { jobferry } from '../systems/jobferry.mjs';
import { faultsOf, takeTurns } from './rounds.mjs';
import { mostOpenOf } from './variants.mjs';

const JOBS = 5000;
const CONCURRENCY = 100;
const HOLD_SECONDS = 3;
/**
 * How long the receiver takes: long enough to see what it has open at once, and whether anything overtakes the probe.
 */
const DELAY_MS = 20;
/** A timer may fire a millisecond early, and times are noted before and after it. */
const TOLERANCE_MS = 2;
const STALL_MS = 15_000;

/** Jobs pile up behind a hold of the queue; when it ends, one goes ahead as a probe, and then all the others. */
export const hold = {
  about: `${JOBS} jobs released at once from a hold: drain rate beside the usual rate, and what must hold at the receiver`,
  async run(stage, options) {
    const plan = {
      rounds: options.rounds,
      describe,
      // A defer over the limit holds the queue, too, and its job comes to an end.
      start: { concurrency: CONCURRENCY, settings: { maxDefers: 0 } },
      receiver: { delayMs: DELAY_MS },
    };
    const { turns } = await takeTurns(stage, [jobferry], plan, (running) => measure(stage, running));
    const faults = turns.flatMap(({ round: n, broken }) => broken.map((text) => `round ${n}: ${text}`));
    return { results: { turns }, tables: [table(turns)], faults: [...faultsOf(turns), ...faults] };
  },
};

async function measure(stage, running) {
  await measureLoad(stage, running, { count: JOBS });
  await running.warmedUp?.();
  const usual = await measureLoad(stage, running, { count: JOBS });
  const held = await pileUp(stage, running);
  const released = await drain(stage, running, held);
  const mostOpen = (await stage.receiver.ask('report', { length: 0 })).mostOpen;
  return { usual, released, mostOpen, broken: brokenIn(released, held, mostOpen) };
}

/** One job in ack mode takes the only slot, so that no other job starts before its defer holds the queue. */
async function pileUp(stage, running) {
  const [{ id: queueId, name }] = running.queues;
  await running.rest('PUT', `/v1/queues/${queueId}`, { mode: 'ack', ackTimeout: 600, concurrency: 1 });
  // This job is not in the records: it is delivered and then dies.
  const number = running.published;
  running.published += 1;
  running.accepted += 1;
  const { id } = await running.rest('POST', `/v1/queues/${name}/jobs`, { payload: { n: number } });
  await stage.receiver.ask('arrived', { count: running.accepted, stallMs: STALL_MS });
  const first = running.published;
  const published = await measurePublishing(stage, running, { count: JOBS });
  const { now: askedAt, distinct } = await stage.receiver.ask('progress');
  await running.rest('POST', `/v1/jobs/${id}/defer`, { retryAfter: HOLD_SECONDS, scope: 'queue', reason: 'benchmark' });
  await running.rest('PUT', `/v1/queues/${queueId}`, { mode: 'standard', concurrency: CONCURRENCY });
  return {
    first,
    length: running.published - first,
    jobs: published.jobs,
    until: askedAt + HOLD_SECONDS * 1000,
    early: running.accepted - published.jobs - distinct,
  };
}

async function drain(stage, running, { first, length, jobs, until }) {
  // CPU from just before the release: nothing goes on during the hold.
  await pause(Math.max(0, until - (await stage.receiver.ask('progress')).now - 100));
  const cpuBefore = cpuSample(stage, running);
  await stage.receiver.ask('arrived', { count: running.accepted, stallMs: STALL_MS });
  await pause(300);
  const cpu = difference(cpuSample(stage, running), cpuBefore);
  const { arrivedAt, times } = await stage.receiver.ask('report', { first, length });
  const at = Array.from(arrivedAt)
    .filter((_at, n) => times[n] > 0)
    .sort((one, other) => one - other);
  const seconds = (at.at(-1) - at[1]) / 1000;
  return {
    jobs,
    arrived: at.length,
    lateMs: round(at[0] - until, 1),
    aloneMs: round(at[1] - at[0], 1),
    seconds: round(seconds, 3),
    jobsPerSecond: round((at.length - 2) / seconds, 1),
    cpuPerJob: perJob(cpu, jobs),
  };
}

function brokenIn({ lateMs, aloneMs }, { early }, mostOpen) {
  const open = mostOpenOf([{ mostOpen }]);
  return [
    ...(open > CONCURRENCY ? [`${open} deliveries open at once, with a concurrency of ${CONCURRENCY}`] : []),
    ...(lateMs < 0 ? [`a delivery ${-lateMs} ms before the end of the hold`] : []),
    ...(aloneMs < DELAY_MS - TOLERANCE_MS
      ? [`a second delivery ${aloneMs} ms after the probe, before its answer`]
      : []),
    ...(early !== 0 ? [`${-early} deliveries past a concurrency of 1`] : []),
  ];
}

function describe({ usual, released, mostOpen }) {
  return (
    `usually ${usual.jobsPerSecond}/s, released ${released.jobsPerSecond}/s, probe ${released.lateMs} ms after the hold, ` +
    `${released.aloneMs} ms alone, most open ${mostOpenOf([{ mostOpen }])}`
  );
}

function table(turns) {
  const row = (label, what, more) => {
    const of = (pick) => spread(turns.map((turn) => pick(turn[what])));
    const speed = of(({ jobsPerSecond }) => jobsPerSecond);
    const busy = Math.round(of(({ cpuPerJob }) => cpuPerJob.others).median * 100);
    return [label, rate(speed), ...more(speed), rate(of(({ cpuPerJob }) => cpuPerJob.system)), `${busy} %`];
  };
  const usual = spread(turns.map((turn) => turn.usual.jobsPerSecond)).median;
  const worst = (pick) => Math.max(...turns.map(pick));
  const least = (pick) => Math.min(...turns.map(pick));
  const open = worst(({ mostOpen }) => mostOpenOf([{ mostOpen }]));
  const alone = least(({ released }) => released.aloneMs);
  const late = [least(({ released }) => released.lateMs), worst(({ released }) => released.lateMs)];
  return {
    title: `${JOBS} jobs released from a hold, concurrency ${CONCURRENCY}, answers after ${DELAY_MS} ms`,
    head: ['What', 'jobs/s (min–max)', 'compared', 'CPU µs per job (min–max)', 'others busy'],
    rows: [
      row('published and delivered', 'usual', () => ['']),
      row('released: from the second delivery to the last', 'released', ({ median }) => [judged(median / usual)]),
    ],
    ...notesOf(
      turns.flatMap(({ usual: one, released }) => [one, released]).map(({ cpuPerJob }) => cpuPerJob.others),
      promiseNote(turns),
      `Aim: no more than ${CONCURRENCY} open at once: ${verdict(open <= CONCURRENCY)} (${open}). ` +
        `Nothing before the end of the hold: ${verdict(late[0] >= 0)} (the probe came ${late[0]} to ${late[1]} ms after it). ` +
        `Nothing beside the probe: ${verdict(alone >= DELAY_MS - TOLERANCE_MS)} (the next came ${alone} ms later, or more).`,
      'There is no aim for the rate. The usual one includes publishing, which the drain does without.',
    ),
  };
}
