import { retryAfterMs } from './exchange.ts';

/** No answer arrived, or one that Jobferry cannot have sent. `cause` is the last error. */
export class JobferryConnectionError extends Error {
  /** Identifies the class when several copies of this package are loaded, where `instanceof` fails. */
  override readonly name = 'JobferryConnectionError';
  /** Number of requests that were sent. The service may have carried out any of them. */
  readonly attempts: number;

  /** Made by the client. */
  constructor(call: string, attempts: number, cause: unknown) {
    super(`${call} failed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${describe(cause)}`, { cause });
    this.attempts = attempts;
  }
}

/** The API refused a request. `unwrap` throws it. */
export class JobferryApiError extends Error {
  /** Identifies the class when several copies of this package are loaded, where `instanceof` fails. */
  override readonly name = 'JobferryApiError';
  /** HTTP status of the answer. */
  readonly status: number;
  /** Messages about single fields of the body, by field name; empty unless the answer is a 400 about fields. */
  readonly fieldErrors: Readonly<Record<string, readonly string[]>>;

  /** The call with its path parameters, such as `jobs.publish(emails)`; null when another client sent it. */
  readonly call: string | null;
  /** Names the request in the service's log; null when a proxy answered. */
  readonly requestId: string | null;
  /** Seconds after which the service may be asked again; null when the answer does not say. */
  readonly retryAfter: number | null;

  /** Made by `unwrap` of an answer. */
  constructor({ status, body, headers }: Answered, call: string | null = null) {
    const { message, fieldErrors } = readError(body);
    super(`${call === null ? '' : `${call}: `}${message === '' ? `answered ${status}` : message}`);
    this.status = status;
    this.fieldErrors = fieldErrors;
    this.call = call;
    // Answers of another client may have other headers.
    const header = (name: string) => (typeof headers?.get === 'function' ? headers.get(name) : null);
    this.requestId = header('x-request-id');
    const text = header('retry-after');
    this.retryAfter = text === null ? null : retryAfterMs(text) / 1000;
  }
}

interface Answered {
  status: number;
  body: unknown;
  headers?: Headers;
}

/** Shared by the ESM and the CommonJS build, both of which may be loaded. */
const CALL = Symbol.for('jobferry.call');

/** Notes in an answer which call it answers, for the message of `unwrap`. The answer looks as before. */
export function ofCall<Result extends object>(result: Result, call: string): Result {
  return Object.defineProperty(result, CALL, { value: call });
}

type Success = { status: 200 | 201 | 204 };

/**
 * Returns the body of a success; throws a `JobferryApiError` for every other answer.
 *
 *     const job = await unwrap(client.jobs.get({ params: { id } }));
 */
export async function unwrap<Result extends { status: number; body: unknown }>(
  result: Result | PromiseLike<Result>,
): Promise<Extract<Result, Success>['body']> {
  const answer: Result & { [CALL]?: string } = await result;
  const { status, body } = answer;
  if (status === 200 || status === 201 || status === 204) return body;
  throw new JobferryApiError(answer, answer[CALL]);
}

/** Reads both shapes of the spec's "Errors". The body of a proxy has neither. */
function readError(body: unknown): { message: string; fieldErrors: Record<string, string[]> } {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined;
  if (typeof error === 'string') return { message: error, fieldErrors: {} };
  if (typeof error !== 'object' || error === null) return { message: '', fieldErrors: {} };
  const { formErrors = [], fieldErrors = {} } = error as {
    formErrors?: string[];
    fieldErrors?: Record<string, string[]>;
  };
  const ofFields = Object.entries(fieldErrors).map(([field, messages]) => `${field}: ${messages.join(', ')}`);
  return { message: [...formErrors, ...ofFields].join('; '), fieldErrors };
}

/** The message of `fetch` is only "fetch failed"; the reason is in its `cause`, or in the cause of that. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A host with several addresses, such as `localhost`, has an error for each, and no message of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(describe).join('; ');
  return error.cause instanceof Error ? `${error.message} (${describe(error.cause)})` : error.message;
}
