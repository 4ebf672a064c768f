/**
 * The kinds of errors that a client can get. The HTTP shell maps a kind to a status (spec "Errors"),
 * GraphQL maps it to a type; neither reads the message.
 */
export const ERROR_KINDS = [
  'invalid_fields',
  'invalid_request',
  'unauthorized',
  'limit_reached',
  'forbidden',
  'not_found',
  'conflict',
  'gone',
  'unavailable',
] as const;
export type ErrorKind = (typeof ERROR_KINDS)[number];

/** Messages per field, as in the spec's 400 of body validation. */
export type FieldErrors = Readonly<Record<string, readonly string[]>>;

/**
 * Whether a statement that failed with `unavailable` has stored anything. `unknown`: it was running when its time-out
 * expired or its connection was lost.
 */
export type Stored = 'nothing' | 'unknown';

/**
 * An error that is part of normal operation. It has no stack trace: the trace would be of no use, and recording it
 * takes longer than the rest of a refusal, of which an overloaded process makes thousands per second.
 */
export abstract class ExpectedError extends Error {
  constructor(message: string, cause?: unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** An expected refusal: its message is written for the client and is safe to show. */
export class JobferryError extends ExpectedError {
  override readonly name = 'JobferryError';
  readonly kind: ErrorKind;
  readonly fields: FieldErrors;
  /** Set for the kind `unavailable`; null for every other kind. */
  readonly stored: Stored | null;

  constructor(...[kind, message, options = {}]: ErrorArguments) {
    super(message, options.cause);
    this.kind = kind;
    this.fields = options.fields ?? {};
    this.stored = options.stored ?? null;
  }
}

/**
 * `stored` has no default: the code that throws the error must know whether something was stored. After a wrong
 * `nothing`, a client repeats a write.
 */
type ErrorArguments =
  | [
      kind: Exclude<ErrorKind, 'unavailable'>,
      message: string,
      options?: { fields?: FieldErrors; cause?: unknown; stored?: never },
    ]
  | [kind: 'unavailable', message: string, options: { fields?: never; cause?: unknown; stored: Stored }];

/** Makes an error for work that is not possible now. `stored`: whether the statement has stored anything. */
export function unavailable(message: string, stored: Stored, cause?: unknown): JobferryError {
  return new JobferryError('unavailable', message, { stored, cause });
}

/**
 * The database was not reached, or the connection to it was lost. All background work fails with it at the same time.
 */
export class DatabaseAway extends JobferryError {
  constructor(stored: Stored, cause: unknown) {
    super('unavailable', 'the database is not available', { stored, cause });
  }
}

export function isUnavailable(error: unknown): error is JobferryError & { stored: Stored } {
  return error instanceof JobferryError && error.kind === 'unavailable';
}

/** Makes a 400 for one field of a body. */
export function invalidField(field: string, message: string): JobferryError {
  return new JobferryError('invalid_fields', `${field}: ${message}`, { fields: { [field]: [message] } });
}

export function notFound(
  what:
    | 'queue'
    | 'job'
    | 'dead letter'
    | 'error group'
    | 'dismissal'
    | 'API key'
    | 'bulk action'
    | 'session'
    | 'member'
    | 'account'
    | 'alert rule'
    | 'saved view',
): JobferryError {
  return new JobferryError('not_found', `${what} not found`);
}
