import { type Bug, first, ordinaryJob } from './bug.ts';

export const LOSING: Bug[] = [
  {
    id: 'I-1',
    what: 'an accepted job is gone',
    plant(run) {
      const { id } = ordinaryJob(run);
      run.jobs = run.jobs.filter((job) => job.id !== id);
      run.history = run.history.filter(({ jobId }) => jobId !== id);
      run.changes = run.changes.filter(({ jobId }) => jobId !== id);
    },
  },
  {
    id: 'I-1',
    what: 'a job that is there cannot be read',
    plant(run) {
      const { id } = ordinaryJob(run);
      run.reads.push({ id, status: 404, job: null });
    },
  },
  {
    id: 'I-2',
    what: 'a job is delivered that no client published',
    plant(run) {
      const { id } = ordinaryJob(run);
      run.publishes = run.publishes.filter((publish) => publish.id !== id);
    },
  },
  {
    id: 'I-3',
    what: 'the answer comes before the commit',
    plant(run) {
      first(run.publishes, ({ seenByOthers }) => seenByOthers === true, 'job that others looked for').seenByOthers =
        false;
    },
  },
  {
    id: 'I-17',
    what: 'one key makes two jobs',
    plant(run) {
      const [one, other] = run.jobs.filter(({ key }) => key !== null);
      if (one === undefined || other === undefined) throw new Error('the recorded run has no keys');
      other.key = one.key;
    },
  },
  {
    id: 'I-17',
    what: 'both racers are told that they were first',
    plant(run) {
      first(run.publishes, ({ key, status }) => key !== null && status === 200, 'race for a key').status = 201;
    },
  },
  {
    id: 'I-37',
    what: 'a publish hangs',
    plant(run) {
      first(run.publishes, ({ outcome }) => outcome === 'ok', 'publish').endedAt += 8000;
    },
  },
  {
    id: 'I-37',
    what: 'an outage is called an internal error',
    plant(run) {
      const call = first(run.publishes, ({ outcome }) => outcome === 'ok', 'publish');
      run.publishes.push({ ...call, key: null, id: null, outcome: 'indeterminate', status: 500 });
    },
  },
];
