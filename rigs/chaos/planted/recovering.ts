import { type Bug, deliveryOf, ordinaryJob } from './bug.ts';

export const RECOVERING: Bug[] = [
  {
    id: 'I-35',
    what: 'a job of a killed worker is not delivered again',
    plant(run) {
      const { id } = ordinaryJob(run);
      const at = deliveryOf(run, id).at + 5000;
      run.faults.push({ kind: 'kill-worker', pid: 1, at, healedAt: at, interrupted: [id], underWay: 1 });
    },
  },
  {
    id: 'I-35',
    what: 'a job of a killed worker comes again too late',
    plant(run) {
      const { id } = ordinaryJob(run);
      const at = deliveryOf(run, id).at - run.leaseMs - 6000;
      // In place of the run's own, which explains what was taken back from that worker.
      const [kill] = run.faults;
      const { workerId = null, healedAt = null } = kill ?? {};
      run.faults = [{ kind: 'kill-worker', pid: 1, workerId, at, healedAt, interrupted: [id], underWay: 1 }];
    },
  },
  {
    id: 'I-35',
    what: 'a process ends by itself',
    plant(run) {
      run.faults.push({ kind: 'unexpected-exit', pid: 1, at: 0, healedAt: null, interrupted: [], underWay: 0 });
    },
  },
];
