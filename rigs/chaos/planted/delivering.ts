import { readEnvelope } from '../checker/envelope.ts';
import type { DeliveryRecord, JobRow, Run } from '../records.ts';
import { type Bug, changesOf, deliveryOf, first, ordinaryJob, queueNamed, rewrite } from './bug.ts';

/** Plants a worker that was stopped while it wrote the requests of the jobs, which others completed meanwhile. */
export function stopWhileWriting(run: Run, jobs: readonly JobRow[]): void {
  const claims = jobs.map(({ id }) => first(changesOf(run, id), ({ to }) => to === 'processing', 'claim'));
  const from = Math.max(...claims.map(({ at }) => at));
  const healedAt = from + 5000;
  const workerId = 4711;
  run.faults.push({ kind: 'freeze-worker', pid: 1, workerId, at: from, healedAt, interrupted: [], underWay: 0 });
  for (const claim of claims) {
    // Tokens of real claims are whole numbers that differ by one.
    const lost = { ...claim, workerId, token: claim.token - 0.5 };
    const back = {
      ...lost,
      from: 'processing',
      to: 'pending',
      attempts: claim.attempts - 1,
      claimedAt: null,
      at: from,
    };
    run.changes.splice(run.changes.indexOf(claim), 0, lost, { ...back, isTakeBack: true });
    Object.assign(deliveryOf(run, claim.jobId), { at: healedAt + 1, endedAt: healedAt + 2 });
  }
}

export const DELIVERING: Bug[] = [
  {
    id: 'I-4',
    what: 'a number of the payload is written another way',
    plant(run) {
      rewrite(run, deliveryOf(run, ordinaryJob(run).id), '"real":1.0', '"real":1');
    },
  },
  {
    id: 'I-5',
    what: 'one byte of a signature is wrong',
    plant(run) {
      const delivery = deliveryOf(run, ordinaryJob(run).id);
      delivery.signatures = [(delivery.signatures[0] ?? '').replace(/.$/, (last) => (last === '0' ? '1' : '0'))];
    },
  },
  {
    id: 'I-5',
    what: 'there are two signatures',
    plant(run) {
      const delivery = deliveryOf(run, ordinaryJob(run).id);
      delivery.signatures.push(...delivery.signatures);
    },
  },
  {
    id: 'I-6',
    what: 'a delivery tells another time of publishing',
    plant(run) {
      rewrite(run, deliveryOf(run, ordinaryJob(run).id), /"createdAt":"2/, '"createdAt":"3');
    },
  },
  {
    id: 'I-7',
    what: 'a job has one attempt too many for a moment',
    plant(run) {
      const job = ordinaryJob(run);
      const claim = first(changesOf(run, job.id), ({ to }) => to === 'processing', 'claim');
      claim.attempts = job.maxAttempts + 1;
    },
  },
  {
    id: 'I-10',
    what: 'a delayed job is delivered before its time',
    plant(run) {
      const { id } = ordinaryJob(run, 'delayed');
      first(run.publishes, (publish) => publish.id === id, 'publish').delayMs += 10_000;
    },
  },
  {
    id: 'I-10',
    what: 'a backoff is cut short',
    plant(run) {
      queueNamed(run, 'flaky').backoffMs += 60_000;
    },
  },
  {
    id: 'I-13',
    what: 'a queue with one slot has two requests open',
    plant(run) {
      const list = run.deliveries
        .filter((delivery) => readEnvelope(delivery)?.queue === 'single')
        .sort((a, b) => a.at - b.at);
      const isFollowed = ({ at }: DeliveryRecord, n: number) =>
        (list[n + 1]?.at ?? Number.POSITIVE_INFINITY) < at + 900;
      const at = list.findIndex(isFollowed);
      const [before, after] = [list[at], list[at + 1]];
      if (before === undefined || after === undefined) throw new Error('the recorded run has no busy single slot');
      before.endedAt = after.at + 1;
    },
  },
  {
    id: 'I-14',
    what: 'claims come without regard to the window',
    plant(run) {
      const { id } = queueNamed(run, 'limited');
      const claims = run.changes.filter(({ queueId, to }) => queueId === id && to === 'processing');
      for (const claim of claims) claim.claimedAt = claims.at(-1)?.claimedAt ?? null;
    },
  },
  {
    id: 'I-18',
    what: 'a job is delivered after it was completed',
    plant(run) {
      const delivery = deliveryOf(run, ordinaryJob(run).id);
      Object.assign(delivery, { at: delivery.at + 5000, endedAt: delivery.at + 5001 });
    },
  },
  {
    id: 'I-18',
    what: 'a process that was stopped writes more than the one request that it was writing',
    plant: (run) => stopWhileWriting(run, [ordinaryJob(run), ordinaryJob(run, 'keyed')]),
  },
  {
    id: 'I-18',
    what: 'a job that was read as finished changes',
    plant(run) {
      const job = ordinaryJob(run);
      run.terminalReads.push({ id: job.id, state: 'dead 1 0 1 null attempts_exhausted' });
    },
  },
];
