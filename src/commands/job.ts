import { findJob, type ShownJob } from '../db/operator/jobs.ts';
import { whyWaiting } from '../domain/waiting.ts';
import { command } from './command.ts';
import { found, idOf, withDatabase } from './database.ts';
import { lifeOf } from './job-timeline.ts';
import { facts, printable, time } from './output.ts';

const show = command({
  name: 'job show',
  summary: 'Show a job and its life as a timeline, without its payload.',
  options: {},
  argument: { name: 'ID', what: 'the id of the job' },
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'job');
      const shown = found(await findJob(db, id), 'job', id);
      const { job, queue, deadLetter, attempts } = shown;
      const life = lifeOf(shown);
      const waiting = waitingOf(shown);
      const lines = life.map(({ at, what }) => `${time(at)}  ${printable(what)}`);
      return {
        json: { job, queue: queue?.name ?? null, waiting, deadLetter, attempts, life },
        text: `${describe(shown, waiting?.message)}\n\n${lines.join('\n')}`,
      };
    }),
});

function waitingOf({ waiting }: ShownJob) {
  return waiting === null ? null : whyWaiting(waiting.job, waiting.queue, waiting.now);
}

function describe({ job, queue }: ShownJob, waiting: string | undefined): string {
  const isOpen = job.completedAt === null && job.deadAt === null;
  return facts([
    ['id', job.id],
    ['queue', queue === null ? job.queueId : `${queue.name} (${queue.id})`],
    ['account', job.accountId],
    ['status', job.status],
    ['waits', waiting],
    ['attempts', `${job.attempts} of ${job.maxAttempts}`],
    ['holds', job.deferCount],
    ['interruptions', job.interruptions > 0 ? job.interruptions : undefined],
    ['idempotency key', job.idempotencyKey ?? undefined],
    ['scheduled for', isOpen ? job.scheduledFor : undefined],
    ['deliver by', isOpen ? job.deliverBy : undefined],
    ['lease or ack deadline', isOpen ? (job.deadline ?? undefined) : undefined],
    ['last error', job.lastError ?? undefined],
  ]);
}

export const JOB_COMMANDS = [show];
