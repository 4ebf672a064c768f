import { z } from 'zod';
import { ATTEMPT_STATUSES, JOB_STATUSES, statusMeantBy } from '../domain/job.ts';
import { isLongerThan, isStorableText } from '../domain/text.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

/**
 * How a route treats the request body.
 * - `payload`: required; the source text of its `payload` member is kept (D26)
 * - `required`: required
 * - `optional`: no body is the same as `{}`
 * - `lenient`: the members of an object are read, and any other content is ignored: the spec has no body here
 * - `ignored`: read, to apply the size limit, and discarded
 */
export type BodyRule = 'payload' | 'required' | 'optional' | 'lenient' | 'ignored';

/** The properties of a route that the HTTP shell needs before it checks the body. */
export interface RouteMetadata {
  body: BodyRule;
  /** Shape of a 400: per field on publish, create and update, one message elsewhere (D22). */
  errors: 'fields' | 'message';
}

export const errorMessage = named(
  'ErrorMessage',
  'The body of every error, except a 400 of publish, create and update.',
  z.object({ error: z.string().describe('Error message for people. Messages may change, status codes do not.') }),
);

export const errorFields = named(
  'ErrorFields',
  'The body of a 400 of publish, create and update: the problems of the request body.',
  z.object({
    error: z
      .object({
        formErrors: z.array(z.string()).describe('Problems of the body as a whole, such as malformed JSON.'),
        fieldErrors: z.record(z.array(z.string())).describe('Problems of single fields, by field name.'),
      })
      .describe('Error messages for people. Messages may change, status codes do not.'),
  }),
);

/**
 * One of some texts. zod's own message would repeat all that a client sent.
 * @param meantBy returns the one that another text probably means
 */
export function oneOf<const Value extends string>(
  values: readonly [Value, ...Value[]],
  meantBy: (text: string) => Value | undefined = () => undefined,
) {
  return z.enum(values, {
    errorMap: (issue, { data, defaultError }) => {
      if (issue.code !== 'invalid_enum_value') return { message: defaultError };
      const meant = typeof data === 'string' ? meantBy(data) : undefined;
      const doubt = meant === undefined ? '' : ` (did you mean ${meant}?)`;
      return { message: `must be one of ${values.join(', ')}${doubt}` };
    },
  });
}

/** For members that a body must have: zod's own word is “Required”. */
export const GIVEN = { required_error: 'must be given' };

/** Answers that every route may send (D22). */
export const commonResponses = {
  400: answer(errorMessage, 'The path or the query is not valid.'),
  401: answer(errorMessage, 'The API key is missing, unknown, revoked or expired.'),
  403: answer(
    errorMessage,
    'The API key is limited, and has no right to this; or the operator has suspended the account, so it can neither ' +
      'publish nor replay jobs.',
  ),
  413: answer(errorMessage, 'The body is larger than the server accepts.'),
  415: answer(errorMessage, 'The content type is not plain JSON in UTF-8.'),
  429: answer(
    errorMessage,
    'The API key or the account has sent too many requests, if the operator limits them. Retry after `Retry-After` seconds. ' +
      'Nothing was stored.',
  ),
  500: answer(errorMessage, 'An internal error of the service.'),
  503: answer(
    errorMessage,
    'The service is not available at the moment. Retry after `Retry-After` seconds. If the request writes data, the ' +
      'message contains "nothing was stored" or, if the service cannot know it, "it may have been stored". In the second ' +
      'case, a publish with an `idempotencyKey` is safe to repeat.',
  ),
} as const;

/** A malformed id has the same answer as an unknown one, without a query. */
export function idParam(what: 'queue' | 'job' | 'dead letter') {
  return z
    .string()
    .regex(/^[0-9a-f]{24}$/, `${what} not found`)
    .describe(`\`id\` of the ${what}.`);
}

/** Ids in answers. The database creates them, so a malformed one is a bug in Jobferry. */
export const id = z.string().regex(/^[0-9a-f]{24}$/);

/** Services return a `Date`; the wire has ISO 8601. */
export const timestamp = lean(z.date().transform((date) => date.toISOString()));

/** A count. */
export const count = z.number().int().min(0);

export const jobStatus = oneOf(JOB_STATUSES, statusMeantBy).describe(
  'A job is `pending` while it waits for its delay, its turn, a back-off or the end of a hold. Only queues in ack mode ' +
    'have jobs in `awaiting_ack`. `completed` and `dead` are final.',
);

/** A payload in an answer: the services return source text, and the client receives an object. */
export const payloadOut = onWire(
  lean(z.string().transform((text) => new VerbatimJson(text))) as unknown as z.ZodType<
    JsonObject,
    z.ZodTypeDef,
    string
  >,
  { type: 'object', additionalProperties: true, description: 'The payload, byte for byte as published.' },
);

export const historyEntry = named(
  'HistoryEntry',
  'One attempt that has ended.',
  z.object({
    attempt: z
      .number()
      .int()
      .min(1)
      .describe('Number of the delivery, starting at 1. A redelivery after a hold has the same number.'),
    status: z
      .enum(ATTEMPT_STATUSES)
      .describe(
        '`success`: a 2xx answer, or an ack in ack mode. `failed`: an answer that is a failure, no answer, or no report ' +
          'in time. `nacked`: reported as failed. `deferred`: an answer of 429, 503 or 529, or a defer.',
      ),
    error: z
      .string()
      .nullable()
      .describe(
        'The error of the attempt; null after a success. It is the `reason` of a nack or defer, or the reason why the job ' +
          'is dead, or a short and stable text such as `HTTP 500`, `timeout`, `connection_refused`, ' +
          '`address_not_allowed` or `ack_timeout`.',
      ),
    webhookStatusCode: z
      .number()
      .int()
      .nullable()
      .describe("Status code of the webhook's answer; null if the webhook did not answer."),
    timestamp: timestamp.describe('Time at which the attempt ended.'),
  }),
);

/** Spec: publish response, both 200 and 201; also the answer to a single replay (D19). */
export const publishedJob = named(
  'PublishedJob',
  'A published job. A new job is `pending`.',
  z.object({
    id: id.describe('Id of the job, for the paths of `/v1/jobs`.'),
    status: jobStatus,
    createdAt: timestamp.describe('Time at which the job was published.'),
  }),
);

/** A string whose `maxLength` counts characters, as JSON Schema has it, and not units of UTF-16, as zod does. */
class CountedString extends z.ZodString {
  override _parse(input: z.ParseInput): z.ParseReturnType<string> {
    const { maxLength } = this;
    const data: unknown = input.data;
    const isFine = typeof data === 'string' && maxLength !== null && data.length > maxLength;
    return isFine && !isLongerThan(data, maxLength) ? z.OK(data) : super._parse(input);
  }
}

export function storableText({ min, max }: Bounds) {
  const message = min === 0 ? `must have at most ${max} characters` : `must have ${min} to ${max} characters`;
  const text: z.ZodString = new CountedString(z.string().min(min, message).max(max, message)._def);
  return lean(text.refine(isStorableText, { message: 'must not contain NUL or lone surrogates' }));
}

interface Bounds {
  readonly min: number;
  readonly max: number;
}

export function secondsWithin({ min, max }: Bounds) {
  const message = `must be ${min} to ${max} seconds`;
  return z.number().min(min, message).max(max, message);
}

export function integerWithin({ min, max }: Bounds) {
  const message = `must be ${min} to ${max}`;
  return z.number().min(min, message).max(max, message).int('must be a whole number');
}

type ExactOptional<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/**
 * zod types an optional member as possibly `undefined`. But JSON has no `undefined`, and zod leaves missing members
 * out. Under `exactOptionalPropertyTypes`, the services need types without `undefined`.
 */
export function exactOptional<Schema extends z.ZodTypeAny>(
  schema: Schema,
): z.ZodType<ExactOptional<z.output<Schema>>, z.ZodTypeDef, z.input<Schema>> {
  return schema;
}
