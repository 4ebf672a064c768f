import { existsSync, readFileSync } from 'node:fs';
import { ROOT } from './root.ts';

/** Version of Jobferry. */
export const { version: VERSION } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  version: string;
};

/**
 * The oldest release whose processes may run on the schema, the SQL functions and the data of this build: the last
 * release, or this one if it is the first, or a change leaves no other choice (decision 0039).
 */
export const OLDEST_BESIDE = '0.3.0';

/** Written by the build. */
const NOTE = new URL('dist/commit', ROOT);

/** The commit of this build, with `-changed` if files differed from it; null if it was built outside of git. */
export const COMMIT: string | null = existsSync(NOTE) ? readFileSync(NOTE, 'utf8').trim() : null;

/** The version, with the commit if it is known, for people: `1.2.3 (0123456789ab)`. */
export const BUILD = COMMIT === null ? VERSION : `${VERSION} (${COMMIT.replace(/^([0-9a-f]{12})[0-9a-f]*/, '$1')})`;
