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

/** An expected refusal: its message is written for the caller and is safe to show. */
export class JobferryError extends Error {
  override readonly name = 'JobferryError';
  readonly kind: ErrorKind;
  readonly fields: FieldErrors;

  constructor(kind: ErrorKind, message: string, options: { fields?: FieldErrors; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.fields = options.fields ?? {};
  }
}

/** A 400 on one field of a body. */
export function invalidField(field: string, message: string): JobferryError {
  return new JobferryError('invalid_fields', `${field}: ${message}`, { fields: { [field]: [message] } });
}

export function notFound(what: 'queue' | 'job' | 'dead letter' | 'API key' | 'bulk action'): JobferryError {
  return new JobferryError('not_found', `${what} not found`);
}
