import type { JsonScalar, PayloadCondition } from '../../domain/job-filter.ts';
import { ANY, isIndex, type PathStep, parsePath } from '../../domain/payload-path.ts';

type Test = Extract<PayloadCondition, { kind: 'test' }>;

/** The values of a statement, in the order of their placeholders. */
export class Values {
  readonly list: unknown[];

  /** @param list values that the statement has already; it grows with each added value */
  constructor(list: unknown[] = []) {
    this.list = list;
  }

  /** @returns the placeholder of the value */
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/**
 * Translates the condition to SQL. `document` is an SQL expression of the payload as jsonb. The result is true or false
 * and never null, so that `not` negates it.
 */
export function payloadTest(condition: PayloadCondition, document: string, values: Values): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return joined(
        condition.kind,
        condition.of.map((part) => payloadTest(part, document, values)),
      );
    case 'not':
      return `(not ${payloadTest(condition.of, document, values)})`;
    case 'anywhere':
      return anywhereTest(condition.text, document, values);
    case 'test':
      return pathTest(condition, parsePath(condition.path), document, values);
  }
}

/**
 * The text of the whole document excludes most payloads at once. In it, a text can also match an escape or what
 * separates values, so names and values are then compared one by one.
 */
function anywhereTest(text: string, document: string, values: Values): string {
  const lowered = `lower(${values.add(text)}::text)`;
  const isIn = (found: string) => `position(${lowered} in lower(${found})) > 0`;
  return `(case when position(lower(${values.add(asInJson(text))}::text) in lower(${document}::text)) > 0
                then exists (
                  select from jsonb_path_query(${document}, 'strict $.**') as node(value)
                   where case jsonb_typeof(node.value)
                           when 'object' then exists (select from jsonb_object_keys(node.value) as keys(name) where ${isIn('keys.name')})
                           when 'array' then false
                           else ${isIn(`coalesce(node.value #>> '{}', 'null')`)} end)
                else false end)`;
}

/** The text as it is part of jsonb's text, in which quotes, backslashes and control characters are escaped. */
function asInJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** With a `*`, tests the rest of the path on each element of the array. */
function pathTest(test: Test, path: readonly PathStep[], document: string, values: Values): string {
  const star = path.indexOf(ANY);
  if (star === -1) return scalarTest(test, valueAt(path as string[], document, values), values);
  // The negation of "one element is equal", not "one element is different".
  if (test.op === 'NEQ') return `(not ${pathTest({ ...test, op: 'EQ' }, path, document, values)})`;
  const array = valueAt(path.slice(0, star) as string[], document, values);
  // The number of values so far makes the name of the row unique in the statement.
  const element = `e${values.list.length}`;
  const holds = pathTest(test, path.slice(star + 1), `${element}.value`, values);
  return `exists (select from jsonb_array_elements(case jsonb_typeof(${array}) when 'array' then ${array} else '[]' end) ${element}
                   where ${holds})`;
}

function scalarTest({ op, value }: Test, found: string, values: Values): string {
  const json = () => `${values.add(JSON.stringify(value))}::text::jsonb`;
  const text = () => `${values.add(value)}::text`;
  switch (op) {
    case 'EXISTS':
      return `(${found} is not null)`;
    case 'EQ':
      return `coalesce(${found} = ${json()}, false)`;
    case 'NEQ':
      return `(not coalesce(${found} = ${json()}, false))`;
    case 'GT':
    case 'LT': {
      const compare = op === 'GT' ? '>' : '<';
      // Texts are compared by code points, because the database's collation differs between servers.
      const holds =
        typeof value === 'number'
          ? `${found} ${compare} ${json()}`
          : `(${found} #>> '{}') collate "C" ${compare} ${text()}`;
      return `coalesce(case jsonb_typeof(${found}) when '${typeof value}' then ${holds} end, false)`;
    }
    case 'CONTAINS': {
      const element = `when 'array' then ${found} @> jsonb_build_array(${json()})`;
      const part =
        typeof value === 'string'
          ? `when 'string' then position(lower(${text()}) in lower((${found} #>> '{}'))) > 0`
          : '';
      return `coalesce(case jsonb_typeof(${found}) ${element} ${part} end, false)`;
    }
  }
}

/** `#>` treats a name such as `-1` or `01` as an array index. In Jobferry's paths it is a name. */
const TAKEN_FOR_INDEX = /^\s*[+-]?\d+$/;

/** @returns SQL: the value at a path; null where it does not exist */
export function valueAt(names: readonly string[], document: string, values: Values): string {
  let expression = document;
  let run: string[] = [];
  const step = () => {
    if (run.length > 0) expression = `(${expression} #> ${values.add(run)}::text[])`;
    run = [];
  };
  for (const name of names) {
    if (TAKEN_FOR_INDEX.test(name) && !isIndex(name)) {
      step();
      expression = `(${expression} -> ${values.add(name)}::text)`;
    } else {
      run.push(name);
    }
  }
  step();
  return expression;
}

/**
 * Translates the condition to SQL that the index on the column `documents` can serve. It holds wherever the condition
 * holds, and may hold elsewhere. Returns null when the index cannot help.
 */
export function payloadProbe(
  condition: PayloadCondition,
  documents: string,
  queueId: string,
  values: Values,
): string | null {
  const probe = probeOf(condition);
  if (probe === null) return null;
  const toSql = (part: Probe): string =>
    'shape' in part
      ? `${documents} @> jsonb_build_object(${queueId}, ${values.add(JSON.stringify(part.shape))}::text::jsonb)`
      : joined(part.kind, part.of.map(toSql));
  return toSql(probe);
}

/** Without conditions, `and` is true and `or` is false. */
function joined(kind: 'and' | 'or', conditions: readonly string[]): string {
  if (conditions.length === 0) return kind === 'and' ? 'true' : 'false';
  return `(${conditions.join(` ${kind} `)})`;
}

/** A document that matching payloads contain, or a combination of such documents. */
type Probe = { shape: unknown } | { kind: 'and' | 'or'; of: readonly Probe[] };

function probeOf(condition: PayloadCondition): Probe | null {
  switch (condition.kind) {
    case 'and': {
      const known = condition.of.map(probeOf).filter((part) => part !== null);
      return known.length === 0 ? null : { kind: 'and', of: known };
    }
    case 'or': {
      const known = condition.of.map(probeOf).filter((part) => part !== null);
      return known.length < condition.of.length ? null : { kind: 'or', of: known };
    }
    case 'not': {
      const opposite = withoutNot(condition.of);
      return opposite === null ? null : probeOf(opposite);
    }
    case 'anywhere':
      return null;
    case 'test': {
      const shapes = shapesOf(condition);
      return shapes === null ? null : { kind: 'or', of: shapes.map((shape) => ({ shape })) };
    }
  }
}

/** @returns the negation of a condition, with `not` moved to its parts; null if the index cannot serve it */
function withoutNot(condition: PayloadCondition): PayloadCondition | null {
  switch (condition.kind) {
    case 'not':
      return condition.of;
    case 'anywhere':
      return null;
    case 'test':
      return condition.op === 'NEQ' ? { ...condition, op: 'EQ' } : null;
    case 'and':
    case 'or':
      return {
        kind: condition.kind === 'and' ? 'or' : 'and',
        of: condition.of.map((of): PayloadCondition => ({ kind: 'not', of })),
      };
  }
}

/** Above this number of documents a walk is as fast. */
const MAX_SHAPES = 4;

/** @returns documents, one of which is contained in every payload that passes the test; null without an index */
function shapesOf({ path, op, value }: Test): unknown[] | null {
  // A text can also be part of a longer text, which the index cannot find.
  if (op !== 'EQ' && !(op === 'CONTAINS' && typeof value !== 'string')) return null;
  let shapes: unknown[] = [op === 'EQ' ? (value satisfies JsonScalar) : [value]];
  for (const name of parsePath(path).reverse()) {
    shapes = shapes.flatMap((shape) =>
      name === ANY ? [[shape]] : [{ [name]: shape }, ...(isIndex(name) ? [[shape]] : [])],
    );
    if (shapes.length > MAX_SHAPES) return null;
  }
  return shapes;
}
