/** The present state of objects, by type and id. */
export type Updates = ReadonlyMap<string, object>;

/** The key of an object in `Updates`; null for what has no identity. */
export function keyOf(value: object): string | null {
  const { __typename: type, id } = value as { __typename?: unknown; id?: unknown };
  return typeof type === 'string' && typeof id === 'string' ? `${type}:${id}` : null;
}

/**
 * The data with the new state of each object that occurs in it, wherever it occurs. Fields that the data did not ask
 * for are not added. What has not changed is the same object as before, so Preact does not render it again.
 */
export function patch<Data>(data: Data, updates: Updates): Data {
  if (updates.size === 0) return data;
  return walk(data, updates) as Data;
}

function walk(value: unknown, updates: Updates): unknown {
  if (Array.isArray(value)) {
    const next = value.map((item) => walk(item, updates));
    return next.some((item, index) => item !== value[index]) ? next : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  const key = keyOf(value);
  const update = key === null ? undefined : updates.get(key);
  const current = update === undefined ? value : merge(value, update);
  return mapValues(current as Record<string, unknown>, (field) => walk(field, updates));
}

/** Old fields with their new values. An object that stays the same object by identity keeps its further fields. */
function merge(old: object, update: object): object {
  const fields = update as Record<string, unknown>;
  return mapValues(old as Record<string, unknown>, (value, name) => {
    if (!(name in fields)) return value;
    const next = fields[name];
    return isPlain(value) && isPlain(next) && keyOf(value) === keyOf(next) ? merge(value, next) : sameOr(value, next);
  });
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The old value if the new one is equal, for lists of plain values. */
function sameOr(old: unknown, next: unknown): unknown {
  return Array.isArray(old) && JSON.stringify(old) === JSON.stringify(next) ? old : next;
}

function mapValues(
  object: Record<string, unknown>,
  map: (value: unknown, name: string) => unknown,
): Record<string, unknown> {
  let changed = false;
  const next: Record<string, unknown> = {};
  for (const name in object) {
    next[name] = map(object[name], name);
    if (next[name] !== object[name]) changed = true;
  }
  return changed ? next : object;
}
