// Prints the signature of each function in prisma/functions: name, arguments with their defaults, and result, on one
// line. `test/db/released-functions.txt` has these lines for the last release. An argument names another folder.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2] ?? join(import.meta.dirname, '../prisma/functions');
const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
const text = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
const signatures = [...text.matchAll(/^create or replace function (.*?)\s+language /gms)].map(([, signature]) =>
  signature.replaceAll(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')'),
);
console.log(signatures.sort().join('\n'));
