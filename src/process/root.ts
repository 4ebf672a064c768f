import { existsSync } from 'node:fs';

const [UP, OF_SOURCES] = [new URL('../../../', import.meta.url), new URL('../../', import.meta.url)];

/** The folder with `package.json`, `prisma` and `dist`: a build has the folders of the sources one level lower. */
export const ROOT: URL = existsSync(new URL('package.json', OF_SOURCES)) ? OF_SOURCES : UP;
