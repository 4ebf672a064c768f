/** The REST shell: from HTTP to the services and back. */

export { type AppOptions, createApp } from './app.ts';
export type { GraphQLEndpoint } from './graphql.ts';
export { Load } from './guards/load.ts';
export { type Dashboard, readDashboard } from './pages/dashboard.ts';
export { findGuide } from './pages/guide.ts';
export { type Places, placesOf } from './pages/places.ts';
export { createAccessLog } from './server/access-log.ts';
export { TrustedProxies } from './server/client-address.ts';
export { type Bound, bind, type ListenOptions, listen } from './server/listen.ts';
export type { SignIn } from './sign-in/sign-in.ts';
