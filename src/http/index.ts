/** The REST shell: from HTTP to the services and back. */
export { createAccessLog } from './access-log.ts';
export { type AppOptions, createApp } from './app.ts';
export { TrustedProxies } from './client-address.ts';
export { type Dashboard, readDashboard } from './dashboard.ts';
export type { GraphQLEndpoint } from './graphql.ts';
export { type Bound, bind, type ListenOptions, listen } from './listen.ts';
export { type Places, placesOf } from './pages.ts';
export type { SignIn } from './sign-in/sign-in.ts';
