import {
  type FieldNode,
  GraphQLIncludeDirective,
  type GraphQLResolveInfo,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type SelectionSetNode,
} from 'graphql';

type Info = Pick<GraphQLResolveInfo, 'fieldNodes' | 'fragments' | 'variableValues'>;

/**
 * The fields that a client selects below a field. Resolvers that read rows use it to read in the same statement what
 * the fields of the rows need, and to read nothing that is not selected. Conditions on types are not examined: a field
 * counts as selected if it is for some type.
 */
export class Selection {
  readonly #sets: readonly SelectionSetNode[];
  readonly #info: Info;
  #fields: Map<string, FieldNode[]> | null = null;

  private constructor(sets: readonly SelectionSetNode[], info: Info) {
    this.#sets = sets;
    this.#info = info;
  }

  /** The selection below the field that is being resolved. */
  static of(info: Info): Selection {
    return new Selection(setsOf(info.fieldNodes), info);
  }

  /** The names of the selected fields. */
  get names(): ReadonlySet<string> {
    return new Set(this.#byName().keys());
  }

  has(...names: readonly string[]): boolean {
    const fields = this.#byName();
    return names.some((name) => fields.has(name));
  }

  /** Whether nothing but these fields is selected. */
  hasOnly(...names: readonly string[]): boolean {
    return [...this.#byName().keys()].every((name) => names.includes(name));
  }

  /** The selection below a field; empty if the field is not selected. */
  below(name: string): Selection {
    return new Selection(setsOf(this.#byName().get(name) ?? []), this.#info);
  }

  /** The selection below the items of a connection. */
  get items(): Selection {
    const below = [this.below('nodes'), this.below('edges').below('node')];
    return new Selection(
      below.flatMap((selection) => selection.#sets),
      this.#info,
    );
  }

  #byName(): Map<string, FieldNode[]> {
    if (this.#fields === null) {
      this.#fields = new Map();
      for (const set of this.#sets) this.#collect(set, this.#fields, new Set());
    }
    return this.#fields;
  }

  #collect(set: SelectionSetNode, fields: Map<string, FieldNode[]>, spread: Set<string>): void {
    for (const node of set.selections) {
      if (!this.#isIncluded(node)) continue;
      if (node.kind === Kind.FIELD) {
        const { value: name } = node.name;
        if (name !== '__typename') fields.set(name, [...(fields.get(name) ?? []), node]);
      } else if (node.kind === Kind.INLINE_FRAGMENT) {
        this.#collect(node.selectionSet, fields, spread);
      } else if (!spread.has(node.name.value)) {
        spread.add(node.name.value);
        const fragment = this.#info.fragments[node.name.value];
        if (fragment !== undefined) this.#collect(fragment.selectionSet, fields, spread);
      }
    }
  }

  #isIncluded(node: Parameters<typeof getDirectiveValues>[1]): boolean {
    const { variableValues } = this.#info;
    return (
      getDirectiveValues(GraphQLSkipDirective, node, variableValues)?.if !== true &&
      getDirectiveValues(GraphQLIncludeDirective, node, variableValues)?.if !== false
    );
  }
}

function setsOf(nodes: readonly FieldNode[]): SelectionSetNode[] {
  return nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
}
