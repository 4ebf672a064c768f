import type { Received } from './exchange.ts';

const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  LIMIT_REACHED: 402,
  NOT_FOUND: 404,
  CONFLICT: 409,
  GONE: 410,
  INTERNAL_SERVER_ERROR: 500,
  UNAVAILABLE: 503,
};

/** The status that REST gives to the same refusal. */
const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  ValidationError: 400,
  InvalidRequestError: 400,
  LimitReachedError: 402,
  ForbiddenError: 403,
  NotFoundError: 404,
  ConflictError: 409,
  GoneError: 410,
  UnavailableError: 503,
};

interface GraphQLBody {
  data?: Record<string, unknown> | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Gives an answer of GraphQL the status that a route would have. The body is its `data`, or that of a refusal. */
export function readGraphQL({ status, body, headers }: Received): Received {
  const { data, errors = [] } = (typeof body === 'object' && body !== null ? body : {}) as GraphQLBody;
  const [error] = errors;
  if (error !== undefined) {
    const message = errors.map((one) => one.message).join('; ');
    return { status: STATUS_BY_CODE[error.extensions?.code ?? ''] ?? 400, body: { error: message }, headers };
  }
  if (data != null) return { status: 200, body: data, headers };
  // Before GraphQL: the refusal of a key, of too many requests, or a proxy's page.
  return { status: status === 200 ? 500 : status, body, headers };
}

interface Refused {
  status: number;
  body: { error: string | { formErrors: string[]; fieldErrors: Record<string, string[]> } };
}

/** Returns the refusal that a mutation returned in place of its result; null if it is a result. */
export function refusalIn(result: unknown): Refused | null {
  const { __typename, message, formErrors, fieldErrors } = (result ?? {}) as {
    __typename?: string;
    message?: string;
    formErrors?: string[];
    fieldErrors?: { field: string; messages: string[] }[];
  };
  const status = STATUS_BY_TYPE[__typename ?? ''];
  if (status === undefined) return null;
  if (fieldErrors === undefined) return { status, body: { error: message ?? '' } };
  const byField = Object.fromEntries(fieldErrors.map(({ field, messages }) => [field, messages]));
  return { status, body: { error: { formErrors: formErrors ?? [], fieldErrors: byField } } };
}
