import { type FieldErrors, JobferryError } from './errors.ts';
import { scanJson } from './json-source.ts';
import { LIMITS } from './queue.ts';
import { isLongerThan, isStorableText } from './text.ts';

/** The fields of a job that a client sends. */
export interface Publishable {
  /** JSON source text. */
  payload: string;
  idempotencyKey?: string | undefined;
  /** Seconds. */
  delay?: number | undefined;
}

/**
 * Checks a publish by the rules of the REST contract, for callers that pass the payload as source text.
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

/** Returns why the text cannot be a payload (D26), or null. The text is only checked, never rewritten. */
function payloadProblem(source: string): string | null {
  // Deliveries are UTF-8, which cannot encode lone surrogates.
  if (!source.isWellFormed()) return 'must not contain lone surrogates, other than as escapes';
  // Checked before any code that may recurse reads the text.
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
  if (key.length < 1 || isLongerThan(key, LIMITS.idempotencyKeyLength)) {
    return `must have 1 to ${LIMITS.idempotencyKeyLength} characters`;
  }
  return isStorableText(key) ? null : 'must not contain NUL or lone surrogates';
}

function delayProblem(delay: number | undefined): string | null {
  const { min, max } = LIMITS.publishDelay;
  return delay === undefined || (delay >= min && delay <= max) ? null : `must be from ${min} to ${max} seconds`;
}
