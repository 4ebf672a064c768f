import { readEnvelope } from '../checker/envelope.ts';
import type { ChangeRow, FaultRecord, HistoryRow, Run } from '../records.ts';
import { type Bug, changesOf, deliveriesOf, deliveryOf, first, ordinaryJob } from './bug.ts';

/** Bugs in what processes know of themselves and of each other, and in what they answer and log about it. */
export const KNOWING: Bug[] = [
  {
    id: 'I-11',
    what: 'a job is claimed after its lifetime',
    plant(run) {
      const job = ordinaryJob(run);
      job.deliverBy = first(changesOf(run, job.id), ({ to }) => to === 'processing', 'claim').claimedAt ?? 0;
    },
  },
  {
    id: 'I-35',
    what: 'a connection that is silent is never replaced',
    plant(run) {
      run.faults.push({ ...faultOf('server-gone', 0), connections: 'lease lock', boundMs: 5000, healedAt: null });
    },
  },
  {
    id: 'I-37',
    what: 'a process is ready while the database takes no writes',
    plant(run) {
      run.probes.push({ at: 5000, since: 0, kind: 'readiness', status: 200 });
    },
  },
  {
    id: 'I-37',
    what: 'a read is refused while the database takes no writes',
    plant(run) {
      run.probes.push({ at: 5000, since: 0, kind: 'read', status: 503 });
    },
  },
  {
    id: 'I-40',
    what: "a publish is refused because the name of another account's webhook is not answered",
    plant(run) {
      const call = first(run.publishes, ({ outcome }) => outcome === 'ok', 'publish');
      // Long after all other faults.
      const at = call.endedAt + 3_600_000;
      run.faults.push({ ...faultOf('name-server', at), hosts: ['slow.test'] });
      const refusal = { key: null, id: null, outcome: 'fail' as const, status: 503, payload: 'planted' };
      const said = 'too many are waiting: nothing was stored';
      run.publishes.push({ ...call, ...refusal, said, invokedAt: at + 1, endedAt: at + 2 });
    },
  },
  {
    id: 'I-40',
    what: 'a process has more sessions than its bound',
    plant(run) {
      run.sessions.push({ at: 0, process: 'worker 1', sessions: 43 });
    },
  },
  {
    id: 'I-41',
    what: 'a job comes once more than it has attempts and interruptions',
    plant(run) {
      deliverTwice(run, ordinaryJob(run).id);
    },
  },
  {
    id: 'I-41',
    what: 'a claim is taken back from a worker with which nothing is wrong',
    plant(run) {
      const { id } = ordinaryJob(run);
      const claim = first(changesOf(run, id), ({ to }) => to === 'processing', 'claim');
      const { at: deliveredAt } = deliveryOf(run, id);
      const former = { ...claim, token: claim.token - 1 };
      const back = { from: 'processing', to: 'pending', attempts: claim.attempts - 1, at: deliveredAt + 1 };
      run.changes.splice(run.changes.indexOf(claim), 0, former, { ...former, ...back });
      claim.at = deliveredAt + 2;
      deliverTwice(run, id);
      run.faults = run.faults.filter(({ healedAt, at }) => (healedAt ?? at) + 4000 < (claim.claimedAt ?? 0));
    },
  },
  {
    id: 'I-41',
    what: 'a worker claims without its lease lock',
    plant(run) {
      const { id } = ordinaryJob(run);
      const { workerId } = first(changesOf(run, id), ({ to }) => to === 'processing', 'claim');
      for (const seen of run.locks) seen.workerIds = seen.workerIds.filter((number) => number !== workerId);
    },
  },
  {
    id: 'I-41',
    what: 'a worker is taken for dead while it has its lease lock',
    plant(run) {
      const isSettled = ({ from, workerId, at }: ChangeRow) =>
        from === 'processing' && workerId !== null && isHeldAround(run, workerId, at);
      first(run.changes, isSettled, 'claim of a worker that had its lock for a while').isTakeBack = true;
      for (const seen of run.locks) seen.confirmed = [];
    },
  },
  {
    id: 'I-41',
    what: 'a worker is taken for dead although the server has just confirmed its lease lock',
    plant(run) {
      const isSettled = ({ from, workerId, at }: ChangeRow) =>
        from === 'processing' && workerId !== null && isHeldAround(run, workerId, at);
      const settled = first(run.changes, isSettled, 'claim of a worker that had its lock for a while');
      settled.isTakeBack = true;
      // Its lock is lost right before.
      for (const seen of run.locks) {
        if (Math.abs(seen.at - settled.at) > 1000) continue;
        seen.workerIds = seen.workerIds.filter((id) => id !== settled.workerId);
      }
    },
  },
  {
    id: 'I-42',
    what: 'a job that waits is swept',
    plant(run) {
      run.removals.push({ jobId: 'planted', status: 'pending', at: 0 });
    },
  },
  {
    id: 'I-43',
    what: 'a job is stored although the answer says that nothing was',
    plant(run) {
      const job = ordinaryJob(run);
      const call = first(run.publishes, ({ id }) => id === job.id, 'publish');
      Object.assign(call, {
        outcome: 'indeterminate',
        id: null,
        status: 503,
        said: 'too many wait: nothing was stored',
      });
    },
  },
  {
    id: 'I-43',
    what: 'a 503 leaves open whether anything was stored',
    plant(run) {
      const call = first(run.publishes, ({ outcome, key }) => outcome === 'ok' && key === null, 'publish');
      const refusal = { id: null, outcome: 'indeterminate' as const, status: 503, said: 'try again' };
      run.publishes.push({ ...call, ...refusal, payload: 'planted' });
    },
  },
  {
    id: 'I-44',
    what: 'a job is claimed from a server that was failed over from',
    plant(run) {
      run.pastWrites.push({ at: 0, what: 'a claim' });
    },
  },
  {
    id: 'I-45',
    what: 'events reach a key that was revoked',
    plant(run) {
      run.revocations.push({ revokedAt: 0, lastEventAt: 6000, lastAnswerAt: 100 });
    },
  },
  {
    id: 'I-48',
    what: 'a process does not end, because a connection is never released',
    plant(run) {
      run.exits.push({ process: 'worker 1', tookMs: null });
    },
  },
  {
    id: 'I-49',
    what: 'an answer that came while its process was stalled counts as timeout',
    plant(run) {
      const { id } = ordinaryJob(run);
      const { at, endedAt } = deliveryOf(run, id);
      const { workerId } = first(changesOf(run, id), ({ to }) => to === 'processing', 'claim');
      run.faults.push({ ...faultOf('stall-worker', at), workerId, healedAt: (endedAt ?? 0) + 1 });
      const entry = first(run.history, ({ jobId }) => jobId === id, 'entry');
      Object.assign(entry, { error: 'timeout', code: null, at: (endedAt ?? 0) + 2 });
    },
  },
  {
    id: 'I-50',
    what: 'a delivery that could not begin without the proxy uses up an attempt',
    plant(run) {
      const sentFor = ({ jobId, attempt }: HistoryRow) =>
        deliveriesOf(run, jobId).filter((delivery) => readEnvelope(delivery)?.attempt === attempt);
      // A hold gives its number back, so another delivery with it may have been answered.
      const isUnanswered = (entry: HistoryRow) =>
        entry.code === null &&
        (entry.error === 'reset' || entry.error === 'timeout') &&
        deliveriesOf(run, entry.jobId).length > 1 &&
        sentFor(entry).every(({ status }) => status === null);
      const entry = first(run.history, isUnanswered, 'attempt without an answer, and another one');
      const { at } = entry;
      const sent = sentFor(entry);
      run.deliveries = run.deliveries.filter((delivery) => !sent.includes(delivery));
      run.faults.push({ ...faultOf('proxy-away', at - 5000), overAt: at + 1 });
    },
  },
];

function faultOf(kind: FaultRecord['kind'], at: number): FaultRecord {
  return { kind, pid: 1, at, healedAt: at + 1, interrupted: [], underWay: 0 };
}

/** Beside the first, so that it is neither late nor one too many for its queue. */
function deliverTwice(run: Run, jobId: string): void {
  const delivery = deliveryOf(run, jobId);
  run.deliveries.push({ ...delivery, end: 'cut', status: null, endedAt: delivery.at + 1 });
  run.usage += 1;
}

function isHeldAround({ locks }: Run, workerId: number, at: number): boolean {
  const around = locks.filter((seen) => seen.at > at - 2600 && seen.at <= at + 700);
  return around.some((seen) => seen.at < at - 2000) && around.every(({ workerIds }) => workerIds.includes(workerId));
}
