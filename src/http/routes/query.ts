/**
 * Parses a query string without Express's nesting, in which `page[]=1` would be a list and `page[a]=1` an
 * object. Here both give a list for `page`, as a repeated `page` does: a list shows that it is not one plain value.
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
