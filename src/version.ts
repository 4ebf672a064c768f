import { readFileSync } from 'node:fs';

/** The same relative path from `src` and from `dist`. */
const PACKAGE = new URL('../package.json', import.meta.url);

/** Version of Jobferry. */
export const { version: VERSION } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };

/**
 * The oldest release whose processes may run on the schema, the SQL functions and the data of this build: the last release,
 * or this one if it is the first, or a change leaves no other choice (decision 0039).
 */
export const OLDEST_BESIDE = '0.1.0';
