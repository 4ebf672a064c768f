/** The REST shell: from HTTP to the services and back. */
export { type AppOptions, createApp, type Readiness } from './app.ts';
export type { Log } from './errors.ts';
export type { GraphQLEndpoint } from './graphql.ts';
export { type Bound, bind, type Listening, type ListenOptions, listen } from './listen.ts';
