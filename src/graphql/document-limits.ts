import {
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type ParseOptions,
  parse,
  type SelectionNode,
  type Source,
  type ValidationContext,
  type ValidationRule,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { TOO_COMPLEX } from './price.ts';

/**
 * Limits of a document by itself. They are far above what a dashboard needs, and bound what parsing and validation can
 * cost; what running it costs is bounded by its price.
 */
export const DOCUMENT_LIMITS = { depth: 14, aliases: 30, directives: 50, tokens: 3000 };

/** How graphql-js begins the message of its own token limit, which has no code. */
const TOKEN_LIMIT_MESSAGE = 'Syntax Error: Document contains more';

export const documentLimits: Plugin = {
  onParse: ({ setParseFn }) => setParseFn(parseWithinLimit),
  onValidate: ({ addValidationRule }) => addValidationRule(limitsRule),
};

export function parseWithinLimit(source: string | Source, options?: ParseOptions) {
  try {
    return parse(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens });
  } catch (error) {
    if (!(error instanceof GraphQLError) || !error.message.startsWith(TOKEN_LIMIT_MESSAGE)) throw error;
    throw tooComplex(`Token limit of ${DOCUMENT_LIMITS.tokens} exceeded`);
  }
}

/** Throws instead of reporting: the rest of the validation is not worth its cost then. */
export const limitsRule: ValidationRule = (context) => ({
  OperationDefinition(operation) {
    const { depth, aliases, directives } = new Measurement(context).ofOperation(operation);
    check('Query depth', depth, DOCUMENT_LIMITS.depth);
    check('Aliases', aliases, DOCUMENT_LIMITS.aliases);
    check('Directives', directives, DOCUMENT_LIMITS.directives);
  },
});

function check(name: string, found: number, limit: number): void {
  if (found > limit) throw tooComplex(`${name} limit of ${limit} exceeded, found ${found}`);
}

function tooComplex(what: string): GraphQLError {
  return new GraphQLError(`${what}: ask for less, or in several requests.`, { extensions: { code: TOO_COMPLEX } });
}

interface Size {
  /** Levels of fields. Fragments add no level. */
  depth: number;
  aliases: number;
  directives: number;
}

/** Of one operation. A fragment counts at each of its spreads, but is measured once, so the work is linear. */
class Measurement {
  readonly #context: Pick<ValidationContext, 'getFragment'>;
  readonly #fragments = new Map<string, Size>();

  constructor(context: Pick<ValidationContext, 'getFragment'>) {
    this.#context = context;
  }

  ofOperation(operation: OperationDefinitionNode): Size {
    return this.#ofParts(operation);
  }

  #ofParts(node: OperationDefinitionNode | FragmentDefinitionNode | SelectionNode): Size {
    const size = { depth: 0, aliases: 0, directives: node.directives?.length ?? 0 };
    if (!('selectionSet' in node)) return size;
    for (const child of node.selectionSet?.selections ?? []) {
      const { depth, aliases, directives } = this.#ofSelection(child);
      size.depth = Math.max(size.depth, depth);
      size.aliases += aliases;
      size.directives += directives;
    }
    return size;
  }

  #ofSelection(node: SelectionNode): Size {
    const size = this.#ofParts(node);
    if (node.kind === Kind.FIELD) {
      const isTypename = node.name.value === '__typename';
      if (node.alias !== undefined && !isTypename) size.aliases += 1;
      // The explorer's introspection is as deep as types are nested in lists.
      size.depth = node.name.value === '__schema' ? 0 : size.depth + 1;
    }
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const { depth, aliases, directives } = this.#ofFragment(node.name.value);
      return { depth, aliases, directives: size.directives + directives };
    }
    return size;
  }

  #ofFragment(name: string): Size {
    const known = this.#fragments.get(name);
    if (known !== undefined) return known;
    // Another rule refuses fragments that contain themselves and names of no fragment.
    this.#fragments.set(name, { depth: 0, aliases: 0, directives: 0 });
    const fragment = this.#context.getFragment(name);
    if (fragment == null) return { depth: 0, aliases: 0, directives: 0 };
    const size = this.#ofParts(fragment);
    this.#fragments.set(name, size);
    return size;
  }
}
