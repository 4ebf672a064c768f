import type { ChangeRow, JobRow, Run } from '../records.ts';
import { type Bug, changesOf, deliveriesOf, deliveryOf, first, ordinaryJob, queueNamed, rewrite } from './bug.ts';

export const ACCOUNTING: Bug[] = [
  {
    id: 'I-8',
    what: 'a hold costs an attempt',
    plant(run) {
      const held = first(run.jobs, (job) => isHeldOnce(run, job), 'job that was held and then completed');
      const [, second] = deliveriesOf(run, held.id).sort((a, b) => a.at - b.at);
      const entry = first(run.history, ({ jobId, ordinal }) => jobId === held.id && ordinal === 2, 'entry');
      if (second !== undefined) rewrite(run, second, '"attempt":1', '"attempt":2');
      entry.attempt = 2;
    },
  },
  {
    id: 'I-9',
    what: 'a job is held more often than it may be',
    plant(run) {
      const most = Math.max(...run.jobs.map(({ deferCount }) => deferCount));
      const job = first(run.jobs, ({ deferCount }) => deferCount === most, 'job that was held');
      for (const queue of run.queues) if (queue.id === job.queueId) queue.maxDefers = most - 1;
    },
  },
  {
    id: 'I-12',
    what: 'a snapshot shows a slot too many',
    plant(run) {
      const { id, concurrency } = queueNamed(run, 'single');
      run.snapshots.push({ at: 0, queueId: id, inFlight: concurrency + 1 });
    },
  },
  {
    id: 'I-12',
    what: 'two claims of a queue with one slot follow one another',
    plant(run) {
      // Between two snapshots: only the order of changes shows it.
      const { id } = queueNamed(run, 'single');
      const of = run.changes.filter(({ queueId }) => queueId === id);
      const at = of.findIndex(({ to }) => to === 'processing');
      const next = of.findIndex(({ to }, n) => n > at && to === 'processing');
      const claim = of[next] as ChangeRow;
      run.changes.splice(run.changes.indexOf(claim), 1);
      run.changes.splice(run.changes.indexOf(of[at] as ChangeRow) + 1, 0, claim);
      const published = run.changes.findIndex(({ jobId, from }) => jobId === claim.jobId && from === null);
      run.changes.unshift(...run.changes.splice(published, 1));
    },
  },
  {
    id: 'I-19',
    what: 'a job is completed that no process delivers',
    plant(run) {
      const end = first(run.changes, ({ from, to }) => from === 'awaiting_ack' && to === 'completed', 'ack');
      const at = run.changes.indexOf(end);
      run.changes.splice(at, 1, { ...end, to: 'pending' }, { ...end, from: 'pending' });
    },
  },
  {
    id: 'I-20',
    what: 'two acks of one delivery are accepted',
    plant(run) {
      const ack = first(run.reports, ({ kind, outcome }) => kind === 'ack' && outcome === 'ok', 'accepted ack');
      run.reports.push({ ...ack });
    },
  },
  {
    id: 'I-20',
    what: 'a nack that was refused counts nevertheless',
    plant(run) {
      const nack = first(run.reports, ({ kind, outcome }) => kind === 'nack' && outcome === 'ok', 'accepted nack');
      Object.assign(nack, { outcome: 'fail', status: 400 });
    },
  },
  {
    id: 'I-21',
    what: 'an ack timeout comes too soon',
    plant(run) {
      const entry = first(run.history, ({ error }) => error === 'ack_timeout', 'ack timeout');
      const before = changesOf(run, entry.jobId).findLast(({ to, at }) => to === 'awaiting_ack' && at <= entry.at);
      if (before !== undefined) before.at = entry.at - 500;
    },
  },
  {
    id: 'I-22',
    what: 'the history tells another code than was answered',
    plant(run) {
      deliveryOf(run, ordinaryJob(run).id).status = 204;
    },
  },
  {
    id: 'I-23',
    what: 'an attempt is counted twice',
    plant(run) {
      ordinaryJob(run).attempts += 1;
    },
  },
  {
    id: 'I-24',
    what: 'a result is settled under the token of an older claim',
    plant(run) {
      first(run.changes, ({ from }) => from === 'processing', 'settled claim').token -= 1;
    },
  },
  {
    id: 'I-25',
    what: 'a completed job has a dead letter',
    plant(run) {
      run.deadLetters.push({ id: 'planted', jobId: ordinaryJob(run).id, replayedJobId: null });
    },
  },
  {
    id: 'I-25',
    what: 'a queue that keeps no dead letters has one missing where it should',
    plant(run) {
      queueNamed(run, 'flaky-forgotten').dlqEnabled = true;
    },
  },
  {
    id: 'I-26',
    what: 'a dead letter is replayed twice',
    plant(run) {
      const letter = first(run.deadLetters, ({ replayedJobId }) => replayedJobId !== null, 'replay');
      ordinaryJob(run).replayOf = letter.jobId;
    },
  },
  {
    id: 'I-29',
    what: 'more is billed than was sent',
    plant(run) {
      run.usage += 1000;
    },
  },
  {
    id: 'I-29',
    what: 'less is billed than was sent',
    plant(run) {
      run.usage -= 200;
    },
  },
];

/** Delivered, held by a 429, and delivered again with success. */
function isHeldOnce(run: Run, { id, deferCount, attempts, status }: JobRow): boolean {
  if (deferCount !== 1 || attempts !== 1 || status !== 'completed') return false;
  const entries = run.history.filter(({ jobId }) => jobId === id);
  if (entries.length !== 2 || entries[0]?.status !== 'deferred') return false;
  return deliveriesOf(run, id).length === 2;
}
