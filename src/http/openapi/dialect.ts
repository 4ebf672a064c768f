/** Values that are data and not schemas: whatever is in there stays as it is. */
const DATA = new Set(['example', 'examples', 'default', 'enum', 'value']);

/**
 * The generator writes schemas in the manner of OpenAPI 3.0. In 3.1, which knows webhooks, a schema is
 * plain JSON Schema: `nullable` is gone, and null is one of the types.
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
