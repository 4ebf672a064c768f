/** Keywords whose values are data and not schemas, so they are not converted. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'value']);

/**
 * Converts schemas from OpenAPI 3.0, which the generator writes, to 3.1, which has webhooks. In 3.1 a schema is plain
 * JSON Schema: instead of `nullable`, null is one of the types.
 */
export function toJsonSchema(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(toJsonSchema);
  if (typeof node !== 'object' || node === null) return node;
  const { nullable, ...rest } = node as Record<string, unknown>;
  const entries = Object.entries(rest)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, DATA.has(key) ? value : toJsonSchema(value)]);
  const result: Record<string, unknown> = Object.fromEntries(entries);
  if (nullable === true && typeof result.type === 'string') result.type = [result.type, 'null'];
  return result;
}
