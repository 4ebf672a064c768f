import type { Api } from '../../../query/schema/types.ts';

export type { Operation, ResultOf } from '../../../query/schema/graphql.ts';

/**
 * Types the text of an operation by schema.graphql: its variables, and its result. At run time it is the text, so that
 * the package needs neither the schema nor a parser.
 */
export const graphql = ((text: string) => text) as unknown as Api;
