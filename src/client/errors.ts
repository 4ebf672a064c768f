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

  /** Made by `unwrap` of the status and body of an answer. */
  constructor(status: number, body: unknown) {
    const { message, fieldErrors } = readError(body);
    super(message === '' ? `answered ${status}` : message);
    this.status = status;
    this.fieldErrors = fieldErrors;
  }
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
  const { status, body } = await result;
  if (status === 200 || status === 201 || status === 204) return body;
  throw new JobferryApiError(status, body);
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
  return error.cause instanceof Error ? `${error.message} (${describe(error.cause)})` : error.message;
}
