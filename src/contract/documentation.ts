import type { z } from 'zod';

/** JSON Schema keywords. */
type WireForm = Readonly<Record<string, unknown>>;

/** `@ts-rest/open-api` prefers the keywords in this member to those that it derives from the schema. */
interface Documented {
  metaOpenApi?: WireForm;
}

/**
 * Sets the wire form of a schema for the OpenAPI document, if the schema itself has another form: `Date` for a
 * date-time, source text for an object. It does not change validation. A later `.describe()` would discard it.
 */
export function onWire<Schema extends z.ZodTypeAny>(schema: Schema, form: WireForm): Schema {
  return withForm(schema.describe(schema.description ?? ''), { nullable: schema.isNullable(), ...form });
}

/** Gives a schema a name in the document, so that the places that use it refer to it instead of having a copy. */
export function named<Schema extends z.ZodTypeAny>(title: string, description: string, schema: Schema): Schema {
  const form = { ...(schema as Documented).metaOpenApi, title, description };
  // The description is set in both places: the generator compares copies of a schema key by key, in order.
  return onWire(schema.describe(description), form);
}

/** Describes when a route sends this answer. The schema keeps its name and its own description. */
export function answer<Schema extends z.ZodTypeAny>(schema: Schema, when: string): Schema {
  return withForm(schema.describe(when), (schema as Documented).metaOpenApi ?? {});
}

/** @param copy a schema that `describe` has just created, so that no other schema is changed */
function withForm<Schema extends z.ZodTypeAny>(copy: Schema, metaOpenApi: WireForm): Schema {
  return Object.assign(copy, { metaOpenApi } satisfies Documented);
}
