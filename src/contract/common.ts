import { z } from 'zod';
import { ATTEMPT_STATUSES, JOB_STATUSES } from '../domain/job.ts';
import { type JsonObject, VerbatimJson } from './verbatim-json.ts';

/**
 * How a route treats the request body.
 * - `payload`: required; the source text of its `payload` member is kept (D26)
 * - `required`: required
 * - `optional`: no body is the same as `{}`
 * - `ignored`: read, for the size limit, and thrown away
 */
export type BodyRule = 'payload' | 'required' | 'optional' | 'ignored';

/** What the shell has to know of a route before its schemas are asked. */
export interface RouteMetadata {
  body: BodyRule;
  /** Shape of a 400: per field on publish, create and update, one message elsewhere (D22). */
  errors: 'fields' | 'message';
}

export const errorMessage = z.object({ error: z.string() });

export const errorFields = z.object({
  error: z.object({
    formErrors: z.array(z.string()),
    fieldErrors: z.record(z.array(z.string())),
  }),
});

/** What every route may answer (D22). */
export const commonResponses = {
  400: errorMessage,
  401: errorMessage,
  413: errorMessage,
  415: errorMessage,
  500: errorMessage,
  503: errorMessage,
} as const;

/** Malformed ids answer what unknown ones answer, and no query is made for them. */
export function idParam(what: 'queue' | 'job' | 'dead letter') {
  return z.string().regex(/^[0-9a-f]{24}$/, `${what} not found`);
}

/** Ids in answers. The database makes them; a wrong one here is our own mistake. */
export const id = z.string().regex(/^[0-9a-f]{24}$/);

/** Services speak in `Date`, the wire in ISO 8601. */
export const timestamp = z.date().transform((date) => date.toISOString());

export const jobStatus = z.enum(JOB_STATUSES);

/** A payload in an answer: source text from the services, an object for whoever reads the answer. */
export const payloadOut = z.string().transform((text) => new VerbatimJson(text)) as unknown as z.ZodType<
  JsonObject,
  z.ZodTypeDef,
  string
>;

export const historyEntry = z.object({
  attempt: z.number().int().min(1),
  status: z.enum(ATTEMPT_STATUSES),
  error: z.string().nullable(),
  webhookStatusCode: z.number().int().nullable(),
  timestamp,
});

/** Spec: publish response, both 200 and 201; also the answer to a single replay (D19). */
export const publishedJob = z.object({ id, status: jobStatus, createdAt: timestamp });

/** Neither NUL nor a lone surrogate can be stored, and either would make different texts equal (D27). */
export function storableText(length: { readonly min: number; readonly max: number }) {
  return z
    .string()
    .min(length.min)
    .max(length.max)
    .refine((text) => !text.includes('\0') && !/\p{Surrogate}/u.test(text), {
      message: 'must not contain NUL or lone surrogates',
    });
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
