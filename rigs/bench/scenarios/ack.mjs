import { setTimeout as pause } from 'node:timers/promises';
import { measureLoad } from '../measure/account.mjs';
import { round, spread } from '../measure/statistics.mjs';
import { rate } from '../report/format.mjs';
import { verdict } from '../report/variants.mjs';
import { query } from '../stage/postgres.mjs';
import { variantScenario, WARM_UP_SECONDS } from './variants.mjs';

/** When no ack was answered for so long, the run has stalled. */
const STALL_MS = 15_000;

/** How long the work takes that an ack ends. An ack at once finds that its delivery has not been noted yet. */
const WORK_MS = 100;
/** Jobs count until their ack, so 100 at a time would be too few. */
const concurrency = 500;
const ackMode = { mode: 'ack', ackTimeout: 600 };

/** Publish, deliver, ack: the receiver answers at once, and then reports each job as done over the API. */
export const ack = variantScenario({
  about: 'ack mode: publish, deliver, ack from outside; beside standard mode',
  title: `Publish, deliver, ack; concurrency ${concurrency}`,
  variants: [
    { name: 'standard', label: 'standard mode: publish, deliver', start: { concurrency } },
    {
      name: 'ack',
      label: `publish, deliver, ack after ${WORK_MS} ms`,
      start: { concurrency, settings: ackMode },
      ackAfterMs: WORK_MS,
    },
    {
      name: 'ack-at-once',
      label: 'publish, deliver, ack at once',
      start: { concurrency, settings: ackMode },
      ackAfterMs: 0,
    },
  ],
  measure,
  columns: [
    {
      head: 'completed/s (min–max)',
      cell: (own) => rate(spread(own.map(({ completedPerSecond }) => completedPerSecond))),
    },
    { head: 'acks asked again / refused', cell: (own) => `${sumOf(own, 'again')} / ${sumOf(own, 'refused')}` },
  ],
  notes: (turns) => [
    `Aim: every accepted job is completed: ${verdict(turns.every(({ unfinished }) => unfinished === 0))}. ` +
      'jobs/s are to the last arrival, completed/s to the answer of the last ack. There is no aim for their ratio.',
  ],
  faults: (turns) =>
    turns
      .filter(({ unfinished }) => unfinished > 0)
      .map(({ system, round: n, unfinished }) => `round ${n}, ${system}: ${unfinished} jobs not completed`),
});

function sumOf(turns, what) {
  return turns.reduce((sum, { acks }) => sum + (acks?.[what] ?? 0), 0);
}

async function measure(stage, running, { seconds }, { ackAfterMs: afterMs = null }) {
  const acks = afterMs !== null;
  if (acks) await stage.receiver.ask('acknowledge', { target: running.target, afterMs });
  const finished = acks ? () => acknowledged(stage, running) : undefined;
  await measureLoad(stage, running, { seconds: WARM_UP_SECONDS }, finished);
  await running.warmedUp?.();
  const measured = await measureLoad(stage, running, { seconds }, finished);
  const acked = acks ? await stage.receiver.ask('acks') : null;
  const lastAt = acked?.lastAt ?? measured.lastAt;
  return {
    ...measured,
    peakRss: running.peakRss(),
    acks: acked,
    completedPerSecond: round((measured.jobs * 1000) / (lastAt - measured.firstAt), 1),
    unfinished: await unfinished(running),
  };
}

/** When every accepted job has been reported as done. */
export async function acknowledged(stage, running) {
  let progress = await stage.receiver.ask('acks');
  while (progress.acked < running.accepted && progress.now - progress.lastAt < STALL_MS) {
    await pause(20);
    progress = await stage.receiver.ask('acks');
  }
}

async function unfinished({ databaseUrl, accepted }) {
  const [{ completed }] = await query(
    databaseUrl,
    `select count(*)::integer as completed from job where status = 'completed'`,
  );
  return accepted - completed;
}
