/** The HTTP shell: REST, GraphQL's transport, documentation and health. */
export { type AppOptions, createApp, type Readiness } from './app.ts';
export type { Log } from './errors.ts';
export type { GraphQLEndpoint } from './graphql.ts';
export { type Bound, bind, type Listening, type ListenOptions, listen } from './listen.ts';
