import type { initGraphQLTada } from 'gql.tada';
import type { introspection } from '../generated/graphql-env.d.ts';

/** The types of schema.graphql. gql.tada lends only its types. */
export type Api = ReturnType<
  typeof initGraphQLTada<{
    introspection: introspection;
    // Fragments keep rows of lists and pages in step. Their fields are used directly, without `readFragment`.
    disableMasking: true;
    scalars: { DateTime: string; JSON: unknown; JSONObject: object };
  }>
>;

/** The values of an enum or of an input, such as `JobFilter`. */
export type SchemaType<Name extends Parameters<Api['scalar']>[0]> = ReturnType<typeof scalar<Name>>;
declare const scalar: Api['scalar'];
