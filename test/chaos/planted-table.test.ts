import { expect, it } from 'vitest';
import { describePlantedBugs } from './planted/table.ts';

it('has a planted bug for each of the 39 invariants', () => {
  const listed = describePlantedBugs().matchAll(/^\| (I-\d+) \|/gm);
  const all = Array.from({ length: 39 }, (_, n) => `I-${n + 1}`);
  expect(new Set(Array.from(listed, ([, id]) => id))).toEqual(new Set(all));
});

// `npx vitest run test/chaos/planted-table.test.ts -u` writes it anew.
it('lists them in docs/evidence', async () => {
  await expect(describePlantedBugs()).toMatchFileSnapshot('../../docs/evidence/planted-bugs.md');
});
