import { fileURLToPath } from 'node:url';

/** The ES modules of `packages/client`, as `npm run build:client` writes them. */
export const CLIENT_DIST = fileURLToPath(new URL('../../packages/client/dist/esm/client', import.meta.url));
