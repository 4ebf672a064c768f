import { type DocumentNode, getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { counts } from '../telemetry/counts/counts.ts';
import { keyOf } from '../telemetry/counts/tally.ts';
import type { GraphQLContext } from './context.ts';

/** Counts operations by type and result. Their names are the clients' choice, so they are no label. */
export function counted(): Plugin<GraphQLContext> {
  const types = new WeakMap<Request, string>();
  const note = (request: Request, document: DocumentNode, name: string | null | undefined) => {
    types.set(request, getOperationAST(document, name)?.operation ?? 'none');
  };
  return {
    onExecute: ({ args: { document, operationName, contextValue } }) =>
      note(contextValue.request, document, operationName),
    onSubscribe: ({ args: { document, operationName, contextValue } }) =>
      note(contextValue.request, document, operationName),
    onResultProcess: ({ request, result }) => {
      // Without a type, the document was refused before its operation was known.
      counts.operations.add(keyOf(types.get(request) ?? 'none', resultOf(result)));
    },
  };
}

function resultOf(result: object): 'ok' | 'error' | 'refused' {
  if (!('errors' in result) || result.errors === undefined) return 'ok';
  return 'data' in result ? 'error' : 'refused';
}
