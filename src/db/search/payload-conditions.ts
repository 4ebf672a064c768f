import type { JsonScalar, PayloadCondition } from '../../domain/job-filter.ts';
import { isIndex, parsePath } from '../../domain/payload-path.ts';

type Test = Extract<PayloadCondition, { kind: 'test' }>;

/** The values of a statement, in the order of their placeholders. */
export class Values {
  readonly list: unknown[] = [];

  /** Answers the placeholder. */
  add(value: unknown): string {
    this.list.push(value);
    return `$${this.list.length}`;
  }
}

/**
 * The condition as SQL on `document`, an expression that is the payload as jsonb. True or false, never
 * null, so that `not` is the opposite.
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
    case 'test':
      return scalarTest(condition, valueAt(parsePath(condition.path), document, values), values);
  }
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
      // Texts by their characters' numbers: the database's own collation would differ between servers.
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

/** For `#>`, a name such as `-1` or `01` counts as an index; here it is not one. */
const TAKEN_FOR_INDEX = /^\s*[+-]?\d+$/;

/** The value at a path, or null where it does not exist. */
function valueAt(names: readonly string[], document: string, values: Values): string {
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
 * What the index can say of the condition: SQL on the column `documents` that holds wherever the condition
 * does, and maybe elsewhere. Null when the index is of no help.
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

/** Of no conditions all hold, and none does. */
function joined(kind: 'and' | 'or', conditions: readonly string[]): string {
  if (conditions.length === 0) return kind === 'and' ? 'true' : 'false';
  return `(${conditions.join(` ${kind} `)})`;
}

/** A document that payloads contain, or several of them. */
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
    case 'test': {
      const shapes = shapesOf(condition);
      return shapes === null ? null : { kind: 'or', of: shapes.map((shape) => ({ shape })) };
    }
  }
}

/** The negation of a condition, when it is something that the index may know. */
function withoutNot(condition: PayloadCondition): PayloadCondition | null {
  switch (condition.kind) {
    case 'not':
      return condition.of;
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

/** Above that, walking costs no more. */
const MAX_SHAPES = 4;

/** Documents of which every payload contains one for which the test holds. */
function shapesOf({ path, op, value }: Test): unknown[] | null {
  // A text can also be part of a longer one, and those the index does not know.
  if (op !== 'EQ' && !(op === 'CONTAINS' && typeof value !== 'string')) return null;
  let shapes: unknown[] = [op === 'EQ' ? (value satisfies JsonScalar) : [value]];
  for (const name of parsePath(path).reverse()) {
    shapes = shapes.flatMap((shape) => [{ [name]: shape }, ...(isIndex(name) ? [[shape]] : [])]);
    if (shapes.length > MAX_SHAPES) return null;
  }
  return shapes;
}
