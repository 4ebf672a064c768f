import { unwrap } from '../../../packages/client/src/index.ts';
import { withApi } from './api.ts';
import { command, type Result } from './command.ts';
import { JOB_ARGUMENT, jobId, secondsOf, wholeFromOne } from './values.ts';

/** Reports on jobs in ack mode, for workers that are scripts. */

const ATTEMPT = {
  attempt: { value: 'N', help: 'attempt of the delivery: a report on an earlier one is refused' },
} as const;
const REASON = { value: 'TEXT', help: 'reason, for the history of the job' } as const;

export const ACK = command({
  name: 'job ack',
  summary: 'Report that a job which awaits an ack succeeded.',
  reach: 'api',
  options: ATTEMPT,
  argument: JOB_ARGUMENT,
  run: ({ argument, options }, environment) => {
    const [id, attempt] = [jobId(argument), attemptOf(options.attempt)];
    return withApi(environment, async (client) =>
      outcome(await unwrap(client.jobs.ack({ params: { id }, body: attempt }))),
    );
  },
});

export const NACK = command({
  name: 'job nack',
  summary: 'Report that a job which awaits an ack failed.',
  reach: 'api',
  options: { ...ATTEMPT, reason: REASON, final: { help: 'do not try again: the job is dead' } },
  argument: JOB_ARGUMENT,
  run: ({ argument, options }, environment) => {
    const [id, attempt] = [jobId(argument), attemptOf(options.attempt)];
    const { reason, final } = options;
    const body = { ...attempt, retryable: !final, ...(reason === undefined ? {} : { reason }) };
    return withApi(environment, async (client) => outcome(await unwrap(client.jobs.nack({ params: { id }, body }))));
  },
});

export const DEFER = command({
  name: 'job defer',
  summary: 'Report that the receiver is busy: hold the queue of a job which awaits an ack, or this job only.',
  reach: 'api',
  options: {
    ...ATTEMPT,
    for: { value: 'TIME', required: true, help: 'length of the hold, such as 30s' },
    'job-only': { help: 'hold this job, and let the queue go on' },
    reason: REASON,
  },
  argument: JOB_ARGUMENT,
  run: ({ argument, options }, environment) => {
    const [id, attempt] = [jobId(argument), attemptOf(options.attempt)];
    const body = {
      ...attempt,
      retryAfter: secondsOf(options.for, '--for'),
      scope: options['job-only'] ? ('job' as const) : ('queue' as const),
      ...(options.reason === undefined ? {} : { reason: options.reason }),
    };
    return withApi(environment, async (client) => outcome(await unwrap(client.jobs.defer({ params: { id }, body }))));
  },
});

export const EXTEND = command({
  name: 'job extend',
  summary: 'Move the ack deadline of a job, and report its progress.',
  reach: 'api',
  options: {
    ...ATTEMPT,
    by: { value: 'TIME', required: true, help: 'time from now to the new deadline, such as 10m' },
    progress: { value: 'TEXT', help: 'text about the progress, for the dashboard' },
  },
  argument: JOB_ARGUMENT,
  run: ({ argument, options: { attempt, by, progress } }, environment) => {
    const id = jobId(argument);
    const input = { seconds: secondsOf(by, '--by'), progress, ...attemptOf(attempt) };
    return withApi(environment, async (client) => {
      const { deadline } = await client.jobs.extend(id, input);
      return { json: { id, deadline }, text: `The ack deadline of job ${id} is ${deadline}.` };
    });
  },
});

function attemptOf(text: string | undefined): { attempt?: number } {
  return text === undefined ? {} : { attempt: wholeFromOne(text, '--attempt') };
}

function outcome({ id, status }: { id: string; status: string }): Result {
  return { json: { id, status }, text: `Job ${id} is ${status}.` };
}
