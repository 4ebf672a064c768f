// Writes the parts of documents that are made from the tables of commands and variables of the built service.
// `test/process/variables.test.ts` checks that they are current.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { REFERENCES, withPart } = await import('../dist/src/cli/commands/reference.js');
for (const [path, part] of Object.entries(REFERENCES)) {
  const file = join(import.meta.dirname, '..', path);
  writeFileSync(file, withPart(readFileSync(file, 'utf8'), part()));
}
