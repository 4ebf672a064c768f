import {
  type DocumentNode,
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
  visit,
} from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { TOO_COMPLEX } from './price.ts';

/**
 * Limits of a document. They are far above the needs of a dashboard, and limit the cost of parsing and validation. The
 * price limits the cost of execution.
 */
export const DOCUMENT_LIMITS = { depth: 14, aliases: 30, directives: 50, tokens: 3000, nameLength: 200 };

/** Start of the message of graphql-js's own token limit, an error without a code. */
const TOKEN_LIMIT_MESSAGE = 'Syntax Error: Document contains more';

export const documentLimits: Plugin = {
  onParse: ({ setParseFn }) => setParseFn(parseWithinLimit),
  onValidate: ({ addValidationRule }) => addValidationRule(limitsRule),
};

export function parseWithinLimit(source: string | Source, options?: ParseOptions) {
  try {
    const document = parse(source, { ...options, maxTokens: DOCUMENT_LIMITS.tokens });
    // The parser does not count comments, each of which the document keeps like any token.
    check('Token', tokensOf(document), DOCUMENT_LIMITS.tokens);
    // Up to a hundred errors of the validation quote the same name, such as that of the operation.
    visit(document, { Name: ({ value }) => check('Length of names', value.length, DOCUMENT_LIMITS.nameLength) });
    return document;
  } catch (error) {
    if (!(error instanceof GraphQLError) || !error.message.startsWith(TOKEN_LIMIT_MESSAGE)) throw error;
    throw tooComplex(`Token limit of ${DOCUMENT_LIMITS.tokens} exceeded`);
  }
}

function tokensOf({ loc }: DocumentNode): number {
  let count = 0;
  // The first and the last token mark the begin and the end of the text.
  for (let token = loc?.startToken.next; token?.next; token = token.next) count += 1;
  return count;
}

/** Documents that are kept, their tokens (some 300 bytes each), and the characters of one. */
const KEPT = { documents: 500, tokens: 100_000, length: 50_000 };

/**
 * Keeps valid documents that came last, because parsing and checking one takes longer than most queries. Refused ones
 * are not kept: their errors take more than they.
 */
export function keptDocuments(limits = KEPT): Plugin {
  const kept = new Map<string, { document: DocumentNode; tokens: number }>();
  let tokens = 0;
  const remove = (text: string) => {
    tokens -= kept.get(text)?.tokens ?? 0;
    kept.delete(text);
  };
  const keep = (text: string, document: DocumentNode) => {
    // The document becomes the newest.
    remove(text);
    const own = { document, tokens: tokensOf(document) };
    kept.set(text, own);
    tokens += own.tokens;
    for (const oldest of kept.keys()) {
      if (kept.size <= limits.documents && tokens <= limits.tokens) break;
      remove(oldest);
    }
  };
  return {
    onParse: ({ params: { source }, setParsedDocument }) => {
      const known = kept.get(String(source));
      if (known !== undefined) setParsedDocument(known.document);
    },
    onValidate: ({ params: { documentAST }, setResult }) => {
      const text = documentAST.loc?.source.body ?? '';
      if (kept.get(text)?.document === documentAST) setResult([]);
      return ({ valid }) => {
        if (valid && text.length <= limits.length) keep(text, documentAST);
      };
    },
  };
}

/** Throws instead of reporting an error, so that the rest of the validation does not run. */
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
  return new GraphQLError(`${what}: select less, or send several requests.`, { extensions: { code: TOO_COMPLEX } });
}

interface Size {
  /** Levels of fields. Fragments add no level. */
  depth: number;
  aliases: number;
  directives: number;
}

/** Measures one operation. A fragment counts at each of its spreads, but is measured once, so the work is linear. */
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
      // The explorer's introspection query is deep, because it follows the wrappers of types.
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
    // Another rule refuses cyclic fragments and unknown fragment names.
    this.#fragments.set(name, { depth: 0, aliases: 0, directives: 0 });
    const fragment = this.#context.getFragment(name);
    if (fragment == null) return { depth: 0, aliases: 0, directives: 0 };
    const size = this.#ofParts(fragment);
    this.#fragments.set(name, size);
    return size;
  }
}
