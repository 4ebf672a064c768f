// The package is of type module, so Node has to be told that this part of the build is not.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

writeFileSync(join(import.meta.dirname, '../dist/cjs/package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`);
