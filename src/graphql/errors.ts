import { GraphQLError } from 'graphql';
import { type ErrorKind, ExpectedError, type FieldErrors, JobferryError } from '../domain/errors.ts';
import { builder } from './builder.ts';

/**
 * Refusals of mutations are members of the result's union, one type per kind, so that a client can tell
 * them apart without reading text. What nobody can plan for (a database that is gone, a mistake of ours)
 * stays an error of the response.
 */
abstract class Refusal extends ExpectedError {
  /** For refusals that end up among the errors of the response. */
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
/** No type of the schema: nobody gets as far without a key, but a key may be revoked while its stream is open. */
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
  description: 'Why something was refused.',
  fields: (t) => ({ message: t.exposeString('message', { description: 'For people.' }) }),
});

const FieldError = builder.objectRef<{ field: string; messages: readonly string[] }>('FieldError').implement({
  description: 'What is wrong with one field of the input.',
  fields: (t) => ({
    field: t.exposeString('field', { description: 'Its name.' }),
    messages: t.exposeStringList('messages', { description: 'What is wrong with it.' }),
  }),
});

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input is not valid (REST: 400).',
  interfaces: [ErrorInterface],
  fields: (t) => ({
    formErrors: t.stringList({
      description: 'What is wrong with the input as a whole.',
      resolve: (error) => [...error.formErrors],
    }),
    fieldErrors: t.field({
      type: [FieldError],
      description: 'What is wrong with single fields.',
      resolve: ({ fields }) => Object.entries(fields).map(([field, messages]) => ({ field, messages })),
    }),
  }),
});

const SIMPLE: readonly [new (message: string) => Refusal, name: string, description: string][] = [
  [NotFoundError, 'NotFoundError', 'There is no such thing, or it is somebody else’s (REST: 404).'],
  [ConflictError, 'ConflictError', 'The state of the thing does not allow it (REST: 409).'],
  [ForbiddenError, 'ForbiddenError', 'Above what the plan or the account may have (REST: 403).'],
  [LimitReachedError, 'LimitReachedError', 'The plan’s delivery attempts of this month are used up (REST: 402).'],
  [GoneError, 'GoneError', 'The queue has been deleted, and its dead letters with it (REST: 410).'],
  [
    InvalidRequestError,
    'InvalidRequestError',
    'Not possible as asked, such as acking a job that awaits none (REST: 400).',
  ],
  [UnavailableError, 'UnavailableError', 'Not now; the same may work in a moment (REST: 503).'],
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

/** The typed form of an expected refusal; anything else as it is. */
export function typed(error: unknown): unknown {
  if (!(error instanceof JobferryError)) return error;
  if (error.kind === 'invalid_fields') return new ValidationError(error.message, [], error.fields);
  return new REFUSALS[error.kind](error.message);
}

/** An expected refusal as an error of the response, or null for what a client must not see. */
export function exposed(error: unknown): GraphQLError | null {
  const refusal = typed(error);
  if (!(refusal instanceof Refusal)) return null;
  return new GraphQLError(refusal.message, { extensions: { code: refusal.code } });
}
