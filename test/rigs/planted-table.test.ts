import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { MUTANTS } from '../../rigs/chaos/planted/mutants.ts';
import { PATCHES } from '../../rigs/chaos/planted/patches.ts';
import { describePlantedBugs } from '../../rigs/chaos/planted/table.ts';
import { ownFunctions } from '../../src/db/schema/sql-functions.ts';

it('has a planted bug for each invariant', async () => {
  const idsIn = (text: string) => new Set(Array.from(text.matchAll(/^\| (I-\d+) \|/gm), ([, id]) => id));
  const invariants = await readFile(new URL('../../docs/invariants.md', import.meta.url), 'utf8');
  expect(idsIn(describePlantedBugs())).toEqual(idsIn(invariants));
});

// They are planted by `npm run rig chaos` only, which is too late to learn that the code has changed around them.
it.each(MUTANTS)('finds where to plant $id: $what', async ({ file, from }) => {
  const source = await readFile(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(from)).toHaveLength(2);
});

// The trigger of the harness itself is not in a file.
const patches = Object.values(PATCHES)
  .flat()
  .filter(({ name }) => name !== 'chaos_note');
it.each(patches)('finds in $name where to plant $id: $what', ({ name, from }) => {
  const texts = ownFunctions().files.flatMap(({ text }) => text.split(/^(?=create or replace function )/m));
  const text = texts.find((part) => part.startsWith(`create or replace function ${name}(`));
  expect(text).toContain(from);
});

// `npx vitest run test/rigs/planted-table.test.ts -u` writes it again.
it('lists them in docs/evidence', async () => {
  await expect(describePlantedBugs()).toMatchFileSnapshot('../../docs/evidence/planted-bugs.md');
});
