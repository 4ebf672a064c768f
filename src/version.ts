import { readFileSync } from 'node:fs';

/** The same relative path from `src` and from `dist`. */
const PACKAGE = new URL('../package.json', import.meta.url);

/** Version of Jobferry. */
export const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
