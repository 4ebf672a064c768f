import { BUGS } from './index.ts';
import { MUTANTS } from './mutants.ts';
import { PATCHES } from './patches.ts';

/** All planted bugs as docs/evidence/planted-bugs.md lists them. planted-table.test.ts compares. */
export function describePlantedBugs(): string {
  const rows = [
    ...BUGS.map(({ id, what }) => ({ id, what, where: 'records of a run', seenBy: 'checker' })),
    ...Object.values(PATCHES).flatMap((patches) =>
      patches.map(({ id, what, name }) => ({
        id,
        what,
        where: `\`${name}\` under a running service`,
        seenBy: 'checker, after a run',
      })),
    ),
    ...MUTANTS.map(({ id, what, file, seenBy }) => ({
      id,
      what,
      where: `\`${file}\``,
      seenBy: `\`${seenBy.file}\`: ${seenBy.test}`,
    })),
  ];
  const numberOf = ({ id }: { id: string }) => Number(id.slice(2));
  rows.sort((a, b) => numberOf(a) - numberOf(b));
  return `# Planted bugs

Tests of the tests: for every invariant at least one bug that breaks it, and the check that has to notice it. ${rows.length} bugs for
${new Set(rows.map(({ id }) => id)).size} invariants ([their wording](../invariants.md)). A run fails when a bug goes unnoticed.

- **Records of a run**: \`npm run rig chaos\`, \`rigs/chaos/planted.chaos.ts\`. A real run's records are altered; the checker must
  find a violation of this invariant and of no other.
- **Under a running service**: \`npm run rig chaos\`, \`rigs/chaos/broken.chaos.ts\`. A function of the database is replaced.
- **Files**: \`npm run rig chaos\`, \`rigs/chaos/mutants.chaos.ts\`. The source is changed in a copy of the repository, which
  is built and tested; the test passes without the bug and must fail with it.

| Invariant | Bug | Planted in | Noticed by |
|---|---|---|---|
${rows.map(({ id, what, where, seenBy }) => `| ${id} | ${what} | ${where} | ${seenBy} |`).join('\n')}
`;
}
