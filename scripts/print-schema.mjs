// Writes schema.graphql from the built service. `test/graphql/schema.test.ts` checks that it is current.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { printedSchema } = await import('../dist/src/graphql/schema.js');
writeFileSync(join(import.meta.dirname, '../schema.graphql'), printedSchema());
