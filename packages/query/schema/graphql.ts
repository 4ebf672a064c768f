import type { TadaDocumentNode } from 'gql.tada';
import type { Api } from './types.ts';

export type { FragmentOf, ResultOf, VariablesOf } from 'gql.tada';
export type Operation<Result, Variables> = TadaDocumentNode<Result, Variables>;
// biome-ignore lint/suspicious/noExplicitAny: any operation or fragment
type AnyDocument = TadaDocumentNode<any, any>;

/** The real result of `graphql`: the source texts of the document and of the fragments that it uses, each once. */
interface Sources {
  readonly sources: ReadonlySet<string>;
}

const sourcesOf = (document: AnyDocument) => (document as unknown as Sources).sources;

/**
 * Types an operation or a fragment by schema.graphql. The parser of gql.tada would be in the bundle, and the page needs
 * only the text of an operation.
 */
export const graphql = ((source: string, fragments: readonly AnyDocument[] = []) => ({
  sources: new Set([source, ...fragments.flatMap((fragment) => [...sourcesOf(fragment)])]),
})) as unknown as Api;

/** The text to send: the operation and its fragments. */
export function textOf(document: AnyDocument): string {
  return [...sourcesOf(document)].join('\n');
}

/** The name of the operation, as in `query JobPage`. */
export function nameOf(document: AnyDocument): string {
  const name = textOf(document).match(/\b(?:query|mutation|subscription)\s+(\w+)/)?.[1];
  if (name === undefined) throw new Error('The operation has no name.');
  return name;
}
