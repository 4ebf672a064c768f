import { JobferryConnectionError, unwrap } from '../errors.ts';
import { backoffMs, RETRIED_STATUSES, retryAfterMs, sleep } from '../exchange.ts';
import type { DeliveredJob, Delivery, ReportedJob } from './delivery.ts';
import type { JobAnswer, JobCalls } from './job-calls.ts';

export type Reports = Pick<Delivery<unknown>, 'ack' | 'nack' | 'defer'>;

/** A report is repeated for this long. The service refuses it before that, once the attempt is over. */
const REPEAT_MS = 300_000;

export const NEEDS_API =
  'ack, nack, defer and extend need the options baseUrl and apiKey, or REPORT_URL in the settings of the service';

/** The reports on one delivery. Without `calls` each is refused. */
export function createReports(calls: JobCalls | null, job: DeliveredJob<unknown>): Reports {
  if (calls === null) {
    const refuse = async () => {
      throw new Error(NEEDS_API);
    };
    return { ack: refuse, nack: refuse, defer: refuse };
  }
  const { attempt } = job;
  const report = (kind: Kind, send: () => Promise<JobAnswer>) => untilKnown(calls, job, kind, send);
  return {
    ack: () => report('success', () => calls.ack({ attempt })),
    nack: (input = {}) => report('nacked', () => calls.nack({ ...input, attempt })),
    defer: (input) => report('deferred', () => calls.defer({ ...input, attempt })),
  };
}

/** The history entry that the report leaves. */
type Kind = 'success' | 'nacked' | 'deferred';

/**
 * Reports until it is known whether the report counted. If the answer was lost or was a temporary failure, it reads the
 * job before it reports again, because the report may have counted. Repeating is safe, because the service refuses a
 * report on an attempt that is over.
 * @throws the error of the last report when it did not count, or when the time is over
 */
async function untilKnown(
  calls: JobCalls,
  job: DeliveredJob<unknown>,
  kind: Kind,
  send: () => Promise<JobAnswer>,
): Promise<ReportedJob> {
  const giveUpAt = performance.now() + REPEAT_MS;
  for (let round = 1; ; round += 1) {
    const answer = await send().catch(unlessConnection);
    const isUnknown = answer instanceof Error || RETRIED_STATUSES.has(answer.status);
    if (!isUnknown && (answer.status === 200 || round === 1)) return unwrap(answer);

    for (let poll = round; isUnknown; poll += 1) {
      const leastMs = answer instanceof Error ? 0 : retryAfterMs(answer.headers.get('retry-after'));
      const pauseMs = Math.max(backoffMs(poll), leastMs);
      if (performance.now() + pauseMs >= giveUpAt) return unwrapOrThrow(answer);
      await sleep(pauseMs);
      const seen = await calls.get().catch(unlessConnection);
      if (seen instanceof Error || RETRIED_STATUSES.has(seen.status)) continue;
      if (seen.status === 200 && counted(seen.body, job.attempt, kind)) return seen.body;
      break;
    }
    if (isUnknown) continue;
    // This report was refused, but an earlier one, whose answer was lost, may have counted since the job was read.
    const seen = await calls.get().catch(unlessConnection);
    if (!(seen instanceof Error) && seen.status === 200 && counted(seen.body, job.attempt, kind)) return seen.body;
    return unwrapOrThrow(answer);
  }
}

function counted(job: ReportedJob, attempt: number, kind: Kind): boolean {
  return job.status === 'completed' || job.history.some((entry) => entry.attempt === attempt && entry.status === kind);
}

/** @throws every error except a JobferryConnectionError, which it returns */
export function unlessConnection(error: unknown): JobferryConnectionError {
  if (error instanceof JobferryConnectionError) return error;
  throw error;
}

async function unwrapOrThrow(answer: JobAnswer | Error): Promise<ReportedJob> {
  if (answer instanceof Error) throw answer;
  return unwrap(answer);
}

/** Long enough for people, and within the service's limit. */
const MAX_REASON_LENGTH = 500;

/** An error message may contain NUL and lone surrogates, a reason may not (D27). */
export function toReason(error: unknown): string {
  return String(error).slice(0, MAX_REASON_LENGTH).replaceAll('\0', '').toWellFormed();
}
