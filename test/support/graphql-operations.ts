import fc from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { number, text, value } from './fuzz.ts';

/** An operation over the wire: the document, and the source text of its variables. */
export interface GeneratedOperation {
  /** The field of the query or mutation that it is about. */
  field: string;
  query: string;
  variables: string;
}

/** JSON source texts that mean something, for arguments and input fields of a name, or of a scalar type. */
export type Known = Record<string, readonly string[]>;

const MAX_DEPTH = 4;
const TIMES = [
  '"2026-01-31T12:00:00Z"',
  '"2020-01-01T00:00:00+14:00"',
  '"9999-12-31T23:59:59.999Z"',
  '"infinity"',
  '"0"',
];

type Draw = fc.GeneratorValue;

/** True so many times in ten. */
const chance = (g: Draw, tenths: number): boolean => g(fc.integer, { min: 0, max: 9 }) < tenths;
const pick = <T>(g: Draw, choices: readonly T[]): T => g((list: readonly T[]) => fc.constantFrom(...list), choices);

/**
 * Operations of a schema with one root field each: its arguments come in variables, mostly of the right type and
 * often of things that exist, and what is selected is any of what there is.
 */
export function operationsOf(
  schema: GraphQLSchema,
  kind: 'query' | 'mutation',
  known: Known,
): fc.Arbitrary<GeneratedOperation> {
  const root = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
  const fields = Object.values(root?.getFields() ?? {});
  return fc.gen().map((g) => {
    const field = pick(g, fields);
    const variables: { declared: string; given: string }[] = [];
    const selected = new Writer(g, schema, known, variables).field(field, 0);
    const declared = variables.length === 0 ? '' : `(${variables.map((v) => v.declared).join(', ')})`;
    return {
      field: field.name,
      query: `${kind} Q${declared} { ${selected} }`,
      variables: `{${variables.map((v) => v.given).join(',')}}`,
    };
  });
}

class Writer {
  readonly #g: Draw;
  readonly #schema: GraphQLSchema;
  readonly #known: Known;
  readonly #variables: { declared: string; given: string }[];

  constructor(g: Draw, schema: GraphQLSchema, known: Known, variables: { declared: string; given: string }[]) {
    this.#g = g;
    this.#schema = schema;
    this.#known = known;
    this.#variables = variables;
  }

  field({ name, args, type }: GraphQLField<unknown, unknown>, depth: number): string {
    const given = args
      .filter(
        (arg) => (isNonNullType(arg.type) && arg.defaultValue === undefined) || chance(this.#g, depth === 0 ? 5 : 1),
      )
      .map((arg) => this.#argument(name, arg));
    return `${name}${given.length === 0 ? '' : `(${given.join(', ')})`}${this.#selection(type, depth)}`;
  }

  #argument(field: string, { name, type }: GraphQLArgument): string {
    const variable = `v${this.#variables.length}`;
    const source = this.#input(type, [`${field}.${name}`, name], 0);
    this.#variables.push({ declared: `$${variable}: ${type}`, given: `"${variable}":${source}` });
    return `${name}: $${variable}`;
  }

  #selection(type: GraphQLOutputType, depth: number): string {
    const named = getNamedType(type);
    if (isLeafType(named)) return '';
    if (isAbstractType(named)) {
      const parts = this.#schema.getPossibleTypes(named).map((of) => `... on ${of.name}${this.#selection(of, depth)}`);
      return ` { __typename ${parts.join(' ')} }`;
    }
    if (!isObjectType(named)) return '';
    const all = Object.values(named.getFields());
    const open = depth < MAX_DEPTH ? all : all.filter((field) => isLeafType(getNamedType(field.type)));
    const count = this.#g(fc.integer, { min: 1, max: depth < 2 ? 5 : 3 });
    const chosen = new Map(
      Array.from({ length: open.length === 0 ? 0 : count }, () => pick(this.#g, open)).map((field) => [
        field.name,
        field,
      ]),
    );
    const parts = [...chosen.values()].map((field) => this.field(field, depth + 1));
    return ` { __typename ${parts.join(' ')} }`;
  }

  /** JSON source text for an argument or input field. */
  #input(type: GraphQLInputType, names: string[], depth: number): string {
    if (this.#g(fc.integer, { min: 0, max: 39 }) === 0) return this.#g(() => value);
    if (isNonNullType(type)) return this.#input(type.ofType, names, depth);
    if (this.#g(fc.integer, { min: 0, max: 19 }) === 0) return 'null';
    const found = [...names, String(getNamedType(type))].find((name) => this.#known[name] !== undefined);
    if (isListType(type)) {
      const count = this.#g(fc.integer, { min: 0, max: 3 });
      return `[${Array.from({ length: count }, () => this.#input(type.ofType, names, depth + 1)).join(',')}]`;
    }
    if (found !== undefined && chance(this.#g, 8)) return pick(this.#g, this.#known[found] ?? []);
    if (isEnumType(type)) return JSON.stringify(pick(this.#g, type.getValues()).name);
    if (isInputObjectType(type)) return this.#object(Object.values(type.getFields()), depth);
    return this.#scalar(type.name);
  }

  #object(fields: { name: string; type: GraphQLInputType; defaultValue?: unknown }[], depth: number): string {
    const needed = fields.filter(({ type }) => isNonNullType(type));
    // Often no more than that: of a dozen generated members one is nearly always refused, and with it the whole object.
    const isMinimal = needed.length > 0 && chance(this.#g, 5);
    const members = fields
      .filter((field) => needed.includes(field) || (!isMinimal && depth < MAX_DEPTH && chance(this.#g, 2)))
      .map(({ name, type }) => `${JSON.stringify(name)}:${this.#input(type, [name], depth + 1)}`);
    return `{${members.join(',')}}`;
  }

  #scalar(name: string): string {
    const plain = () => JSON.stringify(this.#g(() => text));
    switch (name) {
      case 'Boolean':
        return pick(this.#g, ['true', 'false']);
      case 'Int':
        return pick(this.#g, ['0', '1', '5', '25', '100', '300', '-1', '2147483647', '99999999999', '1.5']);
      case 'Float':
        return this.#g(() => number);
      case 'DateTime':
        return pick(this.#g, TIMES);
      case 'JSON':
      case 'JSONObject':
        return this.#g(() => value);
      default:
        return plain();
    }
  }
}
