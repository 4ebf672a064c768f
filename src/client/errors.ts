/** No answer came, or none that Jobferry could have given; `cause` is what went wrong last. */
export class JobferryConnectionError extends Error {
  /** For code that meets errors of several copies of this package, where `instanceof` fails. */
  override readonly name = 'JobferryConnectionError';
  /** Requests that were sent. When it is not a call that is repeated, the service may have done it or not. */
  readonly attempts: number;

  constructor(call: string, attempts: number, cause: unknown) {
    super(`${call} failed after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${describe(cause)}`, { cause });
    this.attempts = attempts;
  }
}

/** A refusal by the API, as `unwrap` throws it. */
export class JobferryApiError extends Error {
  /** For code that meets errors of several copies of this package, where `instanceof` fails. */
  override readonly name = 'JobferryApiError';
  /** HTTP status of the answer. */
  readonly status: number;
  /** What is wrong with single fields of the body, by their names; empty unless it is such a 400. */
  readonly fieldErrors: Readonly<Record<string, readonly string[]>>;

  constructor(status: number, body: unknown) {
    const { message, fieldErrors } = readError(body);
    super(message === '' ? `answered ${status}` : message);
    this.status = status;
    this.fieldErrors = fieldErrors;
  }
}

type Success = { status: 200 | 201 | 204 };

/**
 * The body of a success; every other answer becomes a `JobferryApiError`.
 *
 *     const job = await unwrap(client.jobs.get({ params: { id } }));
 */
export async function unwrap<Result extends { status: number; body: unknown }>(
  result: Result | PromiseLike<Result>,
): Promise<Extract<Result, Success>['body']> {
  const { status, body } = await result;
  if (status === 200 || status === 201 || status === 204) return body;
  throw new JobferryApiError(status, body);
}

/** Both shapes of the spec's "Errors"; a proxy's own body has neither. */
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

/** `fetch` says no more than "fetch failed"; the reason is one or two causes further down. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message} (${describe(error.cause)})` : error.message;
}
