/**
 * Reads a query string without Express's nesting, where `page[]=1` would be a list and `page[a]=1` an
 * object. Both count as `page` given in a form that is not one plain value, and so does repeating it.
 */
export function parseQuery(text: string | null | undefined): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (!text) return query;
  for (const [key, value] of new URLSearchParams(text)) {
    const bracket = key.indexOf('[');
    const name = bracket > 0 ? key.slice(0, bracket) : key;
    const earlier = query[name];
    if (Array.isArray(earlier)) earlier.push(value);
    else if (earlier !== undefined) query[name] = [earlier, value];
    else query[name] = bracket > 0 ? [value] : value;
  }
  return query;
}
