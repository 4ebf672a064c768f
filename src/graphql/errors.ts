import { GraphQLError } from 'graphql';
import { type ErrorKind, ExpectedError, type FieldErrors, JobferryError } from '../domain/errors.ts';
import { builder } from './builder.ts';

/**
 * Refusals of mutations are members of the result's union, one type per kind, so that a client can distinguish them
 * without reading texts. Failures that a client cannot plan for (an unavailable database, a bug in Jobferry) remain
 * errors of the response.
 */
abstract class Refusal extends ExpectedError {
  /** Code of a refusal that becomes an error of the response. */
  abstract readonly code: string;
}

export class ValidationError extends Refusal {
  readonly code = 'BAD_USER_INPUT';
  readonly formErrors: readonly string[];
  readonly fields: FieldErrors;

  constructor(message: string, formErrors: readonly string[], fields: FieldErrors) {
    super(message);
    this.formErrors = formErrors;
    this.fields = fields;
  }
}
export class NotFoundError extends Refusal {
  readonly code = 'NOT_FOUND';
}
export class ConflictError extends Refusal {
  readonly code = 'CONFLICT';
}
export class ForbiddenError extends Refusal {
  readonly code = 'FORBIDDEN';
}
export class LimitReachedError extends Refusal {
  readonly code = 'LIMIT_REACHED';
}
export class GoneError extends Refusal {
  readonly code = 'GONE';
}
/** Not a type of the schema: every request has a valid key, but the key may be revoked while a stream is open. */
class UnauthorizedError extends Refusal {
  readonly code = 'UNAUTHENTICATED';
}
export class InvalidRequestError extends Refusal {
  readonly code = 'BAD_USER_INPUT';
}
export class UnavailableError extends Refusal {
  readonly code = 'UNAVAILABLE';
}

const ErrorInterface = builder.interfaceRef<Error>('Error').implement({
  description: 'A refused request.',
  fields: (t) => ({
    message: t.exposeString('message', { description: 'Explanation for display. Its wording may change.' }),
  }),
});

const FieldError = builder.objectRef<{ field: string; messages: readonly string[] }>('FieldError').implement({
  description: 'The problems of one field of the input.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'Name of the field.' }),
    messages: t.exposeStringList('messages', { description: 'Problems of the field, as texts for people.' }),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input is not valid (REST: 400).',
  interfaces: [ErrorInterface],
  fields: (t) => ({
    formErrors: t.stringList({
      description: 'Problems of the input as a whole.',
      resolve: (error) => [...error.formErrors],
    }),
    fieldErrors: t.field({
      type: [FieldError],
      // Made from the input, so a thousand refusals may be asked about in one request.
      complexity: { field: 1, multiplier: 1 },
      description: 'Problems of single fields.',
      resolve: ({ fields }) => Object.entries(fields).map(([field, messages]) => ({ field, messages })),
    }),
  }),
});

const SIMPLE: readonly [new (message: string) => Refusal, name: string, description: string][] = [
  [NotFoundError, 'NotFoundError', 'The object does not exist, or belongs to another account (REST: 404).'],
  [ConflictError, 'ConflictError', 'The state of the object does not allow the request (REST: 409).'],
  [
    ForbiddenError,
    'ForbiddenError',
    'The request would exceed a limit of the plan or the account, or the account is suspended (REST: 403).',
  ],
  [LimitReachedError, 'LimitReachedError', 'The plan’s delivery attempts of this month are used up (REST: 402).'],
  [GoneError, 'GoneError', 'The queue has been deleted, and its dead letters with it (REST: 410).'],
  [
    InvalidRequestError,
    'InvalidRequestError',
    'The request is not possible as given, such as an ack of a job that is not awaiting one (REST: 400).',
  ],
  [
    UnavailableError,
    'UnavailableError',
    'The service cannot do this now. The same request may succeed in a moment (REST: 503).',
  ],
];
for (const [type, name, description] of SIMPLE) {
  builder.objectType(type, { name, description, interfaces: [ErrorInterface] });
}

const REFUSALS: Readonly<Record<Exclude<ErrorKind, 'invalid_fields'>, new (message: string) => Refusal>> = {
  not_found: NotFoundError,
  conflict: ConflictError,
  forbidden: ForbiddenError,
  limit_reached: LimitReachedError,
  gone: GoneError,
  invalid_request: InvalidRequestError,
  unavailable: UnavailableError,
  unauthorized: UnauthorizedError,
};

/** Returns the typed form of an expected refusal, and any other error as it is. */
export function typed(error: unknown): unknown {
  if (!(error instanceof JobferryError)) return error;
  if (error.kind === 'invalid_fields') return new ValidationError(error.message, [], error.fields);
  return new REFUSALS[error.kind](error.message);
}

/** Returns an expected refusal as an error of the response; null for an error that the client must not see. */
export function exposed(error: unknown): GraphQLError | null {
  const refusal = typed(error);
  if (!(refusal instanceof Refusal)) return null;
  return new GraphQLError(refusal.message, { extensions: { code: refusal.code } });
}
