/**
 * Everything that can go wrong for a caller, by meaning. The HTTP shell maps a kind to a status
 * (spec "Errors"), GraphQL to a type; neither looks at the text.
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
 * What a statement that was answered `unavailable` has left behind: surely nothing, or nobody knows, because it was under
 * way when its time or its connection ended.
 */
export type Stored = 'nothing' | 'unknown';

/**
 * An error that is part of normal work. It has no stack: where it was thrown helps nobody, and to note it takes longer than
 * all else about a refusal, of which an overloaded process makes thousands a second.
 */
export abstract class ExpectedError extends Error {
  constructor(message: string, cause?: unknown) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message, cause === undefined ? undefined : { cause });
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** An expected refusal: its message is written for the caller and is safe to show. */
export class JobferryError extends ExpectedError {
  override readonly name = 'JobferryError';
  readonly kind: ErrorKind;
  readonly fields: FieldErrors;
  /** Of an `unavailable`; null of every other kind. */
  readonly stored: Stored | null;

  constructor(...[kind, message, options = {}]: ErrorArguments) {
    super(message, options.cause);
    this.kind = kind;
    this.fields = options.fields ?? {};
    this.stored = options.stored ?? null;
  }
}

/** `stored` has no default: "nothing was stored" must be known where the error is made, or else a client repeats a write. */
type ErrorArguments =
  | [
      kind: Exclude<ErrorKind, 'unavailable'>,
      message: string,
      options?: { fields?: FieldErrors; cause?: unknown; stored?: never },
    ]
  | [kind: 'unavailable', message: string, options: { fields?: never; cause?: unknown; stored: Stored }];

/** "Not now", and what the statement has left behind. */
export function unavailable(message: string, stored: Stored, cause?: unknown): JobferryError {
  return new JobferryError('unavailable', message, { stored, cause });
}

export function isUnavailable(error: unknown): error is JobferryError & { stored: Stored } {
  return error instanceof JobferryError && error.kind === 'unavailable';
}

/** A 400 on one field of a body. */
export function invalidField(field: string, message: string): JobferryError {
  return new JobferryError('invalid_fields', `${field}: ${message}`, { fields: { [field]: [message] } });
}

export function notFound(what: 'queue' | 'job' | 'dead letter' | 'API key' | 'bulk action'): JobferryError {
  return new JobferryError('not_found', `${what} not found`);
}
