import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getOperationAST,
  getVariableValues,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

/**
 * Maximum price of a request. One is a tenth of a millisecond of a database connection or of this process, with a
 * million jobs (docs/graphql.md has the measurements), so the maximum is two seconds.
 */
export const MAX_PRICE = 20_000;

/** Price of a field, from `complexity` in the builder's options. */
interface FieldPrice {
  field?: number;
  /** Number of items below the field. */
  multiplier?: number;
}
type PriceOption = number | FieldPrice | ((args: object, context: object, field: unknown) => number | FieldPrice);

/** Price of a selection. For a page, fields of items are separate from fields that exist once, such as its total. */
interface SelectionPrice {
  once: number;
  perItem: number;
}

interface Pricing {
  schema: GraphQLSchema;
  fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  variables: Record<string, unknown>;
  /** Prices by selection and type, so that a fragment that is spread a thousand times is priced once. */
  known: Map<SelectionSetNode, Map<GraphQLNamedType, SelectionPrice>>;
}

/** Error code of a request that is too expensive or too large. */
export const TOO_COMPLEX = 'TOO_COMPLEX';

/**
 * Returns the refusal of an operation that is too expensive or whose variables are not valid;
 * null for other operations.
 */
export function refusalOf(operation: PricedOperation): GraphQLError | null {
  const price = priceOf(operation);
  if (price instanceof GraphQLError) return price;
  if (price <= MAX_PRICE) return null;
  return new GraphQLError(
    `the query costs ${price}, above the limit of ${MAX_PRICE}: select fewer items or fields, or send several requests`,
    { extensions: { code: TOO_COMPLEX, price, limit: MAX_PRICE, http: { status: 400 } } },
  );
}

type PricedOperation = Pick<ExecutionArgs, 'schema' | 'document' | 'operationName' | 'variableValues'>;

/** Returns the price, or the first error of variables that are not valid. */
export function priceOf({ schema, document, operationName, variableValues }: PricedOperation): number | GraphQLError {
  const operation = getOperationAST(document, operationName);
  const root = operation == null ? undefined : schema.getRootType(operation.operation);
  if (operation == null || root == null) return 0;
  // Each error quotes its whole variable. The executor would collect 50 of them, so it must not get such variables.
  const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {}, {
    maxErrors: 1,
  });
  if (coerced === undefined) return errors?.[0] ?? new GraphQLError('the variables are not valid');
  const pricing: Pricing = {
    schema,
    fragments: fragmentsOf(document),
    variables: coerced,
    known: new Map(),
  };
  return Math.ceil(priceOfSelection(operation.selectionSet, root, pricing).once);
}

function fragmentsOf({ definitions }: DocumentNode): ReadonlyMap<string, FragmentDefinitionNode> {
  return new Map(
    definitions.flatMap((node) => (node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [])),
  );
}

function priceOfSelection(selection: SelectionSetNode, type: GraphQLNamedType, pricing: Pricing): SelectionPrice {
  const present = pricing.known.get(selection)?.get(type);
  if (present !== undefined) return present;
  const price: SelectionPrice = { once: 0, perItem: 0 };
  for (const node of selection.selections) {
    const { once, perItem } = priceOfNode(node, type, pricing);
    price.once += once;
    price.perItem += perItem;
  }
  const ofSelection = pricing.known.get(selection) ?? new Map<GraphQLNamedType, SelectionPrice>();
  pricing.known.set(selection, ofSelection.set(type, price));
  return price;
}

function priceOfNode(node: SelectionNode, type: GraphQLNamedType, pricing: Pricing): SelectionPrice {
  if (node.kind === Kind.FIELD) {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined;
    // An introspection field, such as `__typename`.
    if (field === undefined) return { once: 1, perItem: 0 };
    const { field: own = 1, multiplier = 1 } = ownPrice(field, node, pricing);
    const named = getNamedType(field.type);
    const below = node.selectionSet === undefined ? NOTHING : priceOfSelection(node.selectionSet, named, pricing);
    if (isPage(named)) return { once: own + below.once + multiplier * below.perItem, perItem: 0 };
    const price = own + Math.max(multiplier, 0) * (below.once + below.perItem);
    return isPage(type) && IS_PER_ITEM.has(field.name) ? { once: 0, perItem: price } : { once: price, perItem: 0 };
  }
  const fragment = node.kind === Kind.FRAGMENT_SPREAD ? pricing.fragments.get(node.name.value) : node;
  if (fragment === undefined) return NOTHING;
  const condition = fragment.typeCondition?.name.value;
  const narrowed = condition === undefined ? type : (pricing.schema.getType(condition) ?? type);
  return priceOfSelection(fragment.selectionSet, narrowed, pricing);
}

const NOTHING: SelectionPrice = { once: 0, perItem: 0 };
/** Fields of pages, and of the groups of jobs. Their other fields exist once. */
const IS_PER_ITEM: ReadonlySet<string> = new Set(['nodes', 'edges', 'groups']);

function isPage(type: GraphQLNamedType): boolean {
  return isObjectType(type) && (type.name.endsWith('Connection') || type.name === 'JobGroups');
}

function ownPrice(
  field: GraphQLField<unknown, unknown>,
  node: Parameters<typeof getArgumentValues>[1],
  { variables }: Pricing,
): FieldPrice {
  const option = field.extensions.complexity as PriceOption | undefined;
  const price = typeof option === 'function' ? option(getArgumentValues(field, node, variables), {}, field) : option;
  return typeof price === 'number' ? { field: price } : (price ?? {});
}
