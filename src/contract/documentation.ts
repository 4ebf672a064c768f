import type { z } from 'zod';

/** JSON Schema keywords. */
type WireForm = Readonly<Record<string, unknown>>;

/** `@ts-rest/open-api` looks here for keywords that win over those it reads off the schema. */
interface Documented {
  metaOpenApi?: WireForm;
}

/**
 * Tells the OpenAPI document what a schema is on the wire, where the schema itself has code: `Date`
 * for a date-time, source text for an object. Checks nothing. A later `.describe()` would lose it.
 */
export function onWire<Schema extends z.ZodTypeAny>(schema: Schema, form: WireForm): Schema {
  return withForm(schema.describe(schema.description ?? ''), { nullable: schema.isNullable(), ...form });
}

/** Gives a schema a name of its own in the document, instead of a copy at every place that uses it. */
export function named<Schema extends z.ZodTypeAny>(title: string, description: string, schema: Schema): Schema {
  const form = { ...(schema as Documented).metaOpenApi, title, description };
  // Described in both places: the generator compares copies of a schema key by key, in order.
  return onWire(schema.describe(description), form);
}

/** Says when a route gives this answer; the schema keeps its name and what is said of it. */
export function answer<Schema extends z.ZodTypeAny>(schema: Schema, when: string): Schema {
  return withForm(schema.describe(when), (schema as Documented).metaOpenApi ?? {});
}

/** On a copy's schema only: `describe` has made one. */
function withForm<Schema extends z.ZodTypeAny>(copy: Schema, metaOpenApi: WireForm): Schema {
  return Object.assign(copy, { metaOpenApi } satisfies Documented);
}
