import { type FieldErrors, JobferryError } from './errors.ts';
import { scanJson } from './json-source.ts';
import { LIMITS } from './queue.ts';
import { isStorableText } from './text.ts';

/** What a caller gives of a job. */
export interface Publishable {
  /** JSON source text. */
  payload: string;
  idempotencyKey?: string | undefined;
  /** Seconds. */
  delay?: number | undefined;
}

/**
 * The rules that REST's contract has for the body of a publish, for callers that give source text.
 * @throws JobferryError `invalid_fields`
 */
export function assertPublishable(job: Publishable): void {
  const problems: [field: string, message: string | null][] = [
    ['payload', payloadProblem(job.payload)],
    ['idempotencyKey', keyProblem(job.idempotencyKey)],
    ['delay', delayProblem(job.delay)],
  ];
  const found = problems.filter((problem): problem is [string, string] => problem[1] !== null);
  if (found.length === 0) return;
  const fields: FieldErrors = Object.fromEntries(found.map(([field, message]) => [field, [message]]));
  throw new JobferryError('invalid_fields', found.map((problem) => problem.join(': ')).join('; '), { fields });
}

/** Why the text cannot be a payload (D26), or null. It is looked at and never written anew. */
function payloadProblem(source: string): string | null {
  // The text goes out in UTF-8, which cannot say these.
  if (!source.isWellFormed()) return 'must not contain lone surrogates, other than as escapes';
  // Before anything that may be recursive sees it.
  if (!scanJson(source, LIMITS.payloadDepth).ok) return `must not be more than ${LIMITS.payloadDepth} levels deep`;
  try {
    const value: unknown = JSON.parse(source);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'must be a JSON object';
  } catch {
    return 'must be a JSON object';
  }
}

function keyProblem(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (key.length < 1 || key.length > LIMITS.idempotencyKeyLength) {
    return `must have 1 to ${LIMITS.idempotencyKeyLength} characters`;
  }
  return isStorableText(key) ? null : 'must not contain NUL or lone surrogates';
}

function delayProblem(delay: number | undefined): string | null {
  const { min, max } = LIMITS.publishDelay;
  return delay === undefined || (delay >= min && delay <= max) ? null : `must be from ${min} to ${max} seconds`;
}
