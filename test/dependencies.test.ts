import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** docs/dependencies.md states why each package is there, so it names all of them and no other. */

type Section = 'dependencies' | 'optionalDependencies' | 'devDependencies' | 'overrides';
type Manifest = Partial<Record<Section, Record<string, string>>>;

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');
const document = read('docs/dependencies.md');

const LISTED: [heading: string, manifest: string, section: Section][] = [
  ['Server', 'package.json', 'dependencies'],
  ['Embedded PostgreSQL', 'package.json', 'optionalDependencies'],
  ['Development', 'package.json', 'devDependencies'],
  ['Tests of packages', 'rigs/packages/tools/package.json', 'dependencies'],
  ['Benchmarks', 'rigs/bench/package.json', 'dependencies'],
  ['Overrides', 'package.json', 'overrides'],
];

function packagesOf(manifest: string, section: Section): string[] {
  return Object.keys((JSON.parse(read(manifest)) as Manifest)[section] ?? {});
}

/** The rows of the table under a heading: a name, and cells that are not empty. */
function rowsUnder(heading: string): { name: string; cells: string[] }[] {
  const text = document.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...text.matchAll(/^\| `([^`]+)` \|(.*)\|$/gm)].map(([, name = '', cells = '']) => ({
    name,
    cells: cells.split('|').map((cell) => cell.trim()),
  }));
}

/** A name may end in `*`, which stands for packages that differ by platform only. */
const isNamedBy = (name: string, listed: string) =>
  listed.endsWith('*') ? name.startsWith(listed.slice(0, -1)) : name === listed;

describe.each(LISTED)('docs/dependencies.md, "%s"', (heading, manifest, section) => {
  const packages = packagesOf(manifest, section);
  const rows = rowsUnder(heading);

  it(`has a line for each of ${section} in ${manifest}`, () => {
    expect(packages).not.toEqual([]);
    expect(packages.filter((name) => !rows.some((row) => isNamedBy(name, row.name)))).toEqual([]);
  });

  it('has no line for a package that is not there, and none without a reason', () => {
    expect(rows.filter((row) => !packages.some((name) => isNamedBy(name, row.name)))).toEqual([]);
    expect(rows.filter(({ cells }) => cells.length !== 2 || cells.includes(''))).toEqual([]);
  });
});

it('docs/dependencies.md has every section of all manifests', () => {
  const sections: Section[] = ['dependencies', 'optionalDependencies', 'devDependencies', 'overrides'];
  const present = ['package.json', 'rigs/packages/tools/package.json', 'rigs/bench/package.json'].flatMap((manifest) =>
    sections.filter((section) => packagesOf(manifest, section).length > 0).map((section) => `${manifest} ${section}`),
  );
  expect(present.sort()).toEqual(LISTED.map(([, manifest, section]) => `${manifest} ${section}`).sort());
});
