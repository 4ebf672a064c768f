import { z } from 'zod';
import { ATTEMPT_STATUSES, JOB_STATUSES } from '../domain/job.ts';
import { isStorableText } from '../domain/text.ts';
import { answer, named, onWire } from './documentation.ts';
import { lean } from './lean.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

/**
 * How a route treats the request body.
 * - `payload`: required; the source text of its `payload` member is kept (D26)
 * - `required`: required
 * - `optional`: no body is the same as `{}`
 * - `glanced`: an object is looked into, and whatever else may come is no body: the spec has none here
 * - `ignored`: read, for the size limit, and thrown away
 */
export type BodyRule = 'payload' | 'required' | 'optional' | 'glanced' | 'ignored';

/** What the shell has to know of a route before its schemas are asked. */
export interface RouteMetadata {
  body: BodyRule;
  /** Shape of a 400: per field on publish, create and update, one message elsewhere (D22). */
  errors: 'fields' | 'message';
}

export const errorMessage = named(
  'ErrorMessage',
  'Every refusal but a 400 of publish, create and update.',
  z.object({ error: z.string().describe('What is wrong, for people: texts may change, statuses do not.') }),
);

export const errorFields = named(
  'ErrorFields',
  'A 400 of publish, create and update: what is wrong with the body.',
  z.object({
    error: z
      .object({
        formErrors: z.array(z.string()).describe('What is wrong with the body as a whole, such as malformed JSON.'),
        fieldErrors: z.record(z.array(z.string())).describe('What is wrong with single fields, by their names.'),
      })
      .describe('What is wrong, for people: texts may change, statuses do not.'),
  }),
);

/** What every route may answer (D22). */
export const commonResponses = {
  400: answer(errorMessage, 'The path or the query is not valid.'),
  401: answer(errorMessage, 'The API key is missing, unknown or revoked.'),
  413: answer(errorMessage, 'The body is larger than the server takes.'),
  415: answer(errorMessage, 'The body is declared as something else than plain JSON in UTF-8.'),
  500: answer(errorMessage, 'An error of the service itself.'),
  503: answer(
    errorMessage,
    'The service cannot do this at the moment. Try again after `Retry-After` seconds. For what would have stored ' +
      'something, the message says "nothing was stored", or, where nobody can know, "it may have been stored": then a ' +
      'publish with an `idempotencyKey` is safe to repeat.',
  ),
} as const;

/** Malformed ids answer what unknown ones answer, and no query is made for them. */
export function idParam(what: 'queue' | 'job' | 'dead letter') {
  return z
    .string()
    .regex(/^[0-9a-f]{24}$/, `${what} not found`)
    .describe(`\`id\` of the ${what}.`);
}

/** Ids in answers. The database makes them; a wrong one here is our own mistake. */
export const id = z.string().regex(/^[0-9a-f]{24}$/);

/** Services speak in `Date`, the wire in ISO 8601. */
export const timestamp = lean(z.date().transform((date) => date.toISOString()));

/** Numbers of things. */
export const count = z.number().int().min(0);

export const jobStatus = z
  .enum(JOB_STATUSES)
  .describe(
    'A job that waits is `pending`: for its delay, its turn, a backoff or the end of a hold. `awaiting_ack` is for ' +
      'queues in ack mode. `completed` and `dead` are final.',
  );

/** A payload in an answer: source text from the services, an object for whoever reads the answer. */
export const payloadOut = onWire(
  lean(z.string().transform((text) => new VerbatimJson(text))) as unknown as z.ZodType<
    JsonObject,
    z.ZodTypeDef,
    string
  >,
  { type: 'object', additionalProperties: true, description: 'As published, byte for byte.' },
);

export const historyEntry = named(
  'HistoryEntry',
  'One attempt that has ended.',
  z.object({
    attempt: z.number().int().min(1).describe('Number of the delivery. A redelivery after a hold repeats it.'),
    status: z
      .enum(ATTEMPT_STATUSES)
      .describe(
        '`success`: delivered, or acked. `failed`: a failing answer, none, or no report in time. `nacked`: reported as ' +
          'failed. `deferred`: answered 429, 503 or 529, or deferred by a call.',
      ),
    error: z
      .string()
      .nullable()
      .describe(
        'Null after a success. The `reason` of a nack or defer, else a short and stable text such as `HTTP 500`, ' +
          '`timeout`, `connection_refused`, `address_not_allowed` or `ack_timeout`, or why the job is dead.',
      ),
    webhookStatusCode: z.number().int().nullable().describe('What the webhook answered; null when it did not.'),
    timestamp: timestamp.describe('When the attempt ended.'),
  }),
);

/** Spec: publish response, both 200 and 201; also the answer to a single replay (D19). */
export const publishedJob = named(
  'PublishedJob',
  'A job right after it was taken. A new one is `pending`.',
  z.object({
    id: id.describe('Use it in the paths of `/v1/jobs`.'),
    status: jobStatus,
    createdAt: timestamp.describe('When it was published.'),
  }),
);

export function storableText(length: { readonly min: number; readonly max: number }) {
  const text = z.string().min(length.min).max(length.max);
  return lean(text.refine(isStorableText, { message: 'must not contain NUL or lone surrogates' }));
}

export function numberWithin(bounds: { readonly min: number; readonly max: number }) {
  return z.number().min(bounds.min).max(bounds.max);
}

export function integerWithin(bounds: { readonly min: number; readonly max: number }) {
  return numberWithin(bounds).int();
}

type ExactOptional<T> = { [K in keyof T]: Exclude<T[K], undefined> };

/**
 * zod types an optional member as possibly `undefined`, but JSON has no `undefined` and zod leaves
 * out what is missing; under `exactOptionalPropertyTypes` that difference matters to the services.
 */
export function exactOptional<Schema extends z.ZodTypeAny>(
  schema: Schema,
): z.ZodType<ExactOptional<z.output<Schema>>, z.ZodTypeDef, z.input<Schema>> {
  return schema;
}
