import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Holds every cited rule, invariant, fault and document to what the repository has. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PLACES = ['src', 'packages', 'prisma', 'test', 'docs', 'rigs', 'scripts'];
const TEXT = /\.(ts|mts|mjs|sql|prisma|md|graphql)$/;
const SKIPPED = /(^|\/)(generated|node_modules|dist|out)\//;

/**
 * Numbers of rules: `D14`, `I-3`, `F-12`, `H94`, `G16`, `R7`, `S56`.
 * Not within a word, a path or base64; `S256` is PKCE's.
 */
const NUMBER = /(?<![\w+=-])(?!S256\b)(?:[DHGRS]|[IF]-)\d+(?![\w+=])/g;

/** Documents that were never part of the repository, as they used to be cited. */
const ABSENT =
  /\bDESIGN\b(?:\.md| \d)|\breliability(?:\.md| (?:section )?\d| [A-Z]-\d)|\b(?:issue|finding) \d+|\binterface\.md\b/g;

interface Text {
  path: string;
  text: string;
}

function read(path: string): Text {
  return { path, text: readFileSync(join(ROOT, path), 'utf8') };
}

function filesBelow(folder: string): string[] {
  if (!existsSync(join(ROOT, folder))) return [];
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
    posix.join(folder, file.split(sep).join('/')),
  );
}

const texts: Text[] = [...PLACES.flatMap(filesBelow), ...readdirSync(ROOT)]
  .filter((path) => TEXT.test(path) && !SKIPPED.test(path))
  .map(read);

const rules = read('docs/rules.md').text;
const invariants = read('docs/invariants.md').text;
const contract = read('docs/spec.md').text;

/** Names that the first cell of each row of a table defines. */
function definedIn(document: string): Set<string> {
  const cells = Array.from(document.matchAll(/^\| ([^|]+) \|/gm), ([, cell]) => cell ?? '');
  return new Set(cells.flatMap((cell) => cell.match(NUMBER) ?? []));
}

function citedIn(text: string): string[] {
  return text.match(NUMBER) ?? [];
}

const defined = new Set([...definedIn(rules), ...definedIn(invariants)]);

function unknownIn(text: string): string[] {
  return citedIn(text).filter((number) => !defined.has(number));
}

/** Parts of the contract that a comment names: spec "Events". */
function partsOfTheContract(text: string): string[] {
  return Array.from(
    text.matchAll(/\b[Ss]pec (?:"([^"]+)"|'([^']+)')/g),
    ([, double, single]) => double ?? single ?? '',
  );
}

/** Documents that a text names by their path from the root, with `docs/decisions/0007` for a decision. */
function documentsIn(text: string): string[] {
  return text.match(/\bdocs\/(?:[\w./-]*\.md\b|decisions\/\d{4}(?![\w-]))/g) ?? [];
}

const decisions = filesBelow('docs/decisions');

function isThere(document: string): boolean {
  if (/^docs\/decisions\/\d{4}$/.test(document)) return decisions.some((path) => path.startsWith(`${document}-`));
  return existsSync(join(ROOT, document));
}

/** Relative links of Markdown and of HTML in it, without the heading they lead to. */
function linksIn({ path, text }: Text): string[] {
  const found = text.matchAll(/\]\(([^)\s]+)\)|<[^<>]*\b(?:href|src|srcset)="([^"]+)"/g);
  const targets = Array.from(found, ([, inMarkdown, inHtml]) => inMarkdown ?? inHtml ?? '');
  return targets
    .filter((target) => !/^(?:[a-z]+:|#)/.test(target))
    .map((target) => posix.join(dirname(path), target.replace(/#.*/, '')));
}

function wrong(find: (text: Text) => string[], within: Text[] = texts): string[] {
  return within.flatMap((text) => [...new Set(find(text))].map((what) => `${text.path}: ${what}`));
}

const markdown = texts.filter(({ path }) => path.endsWith('.md'));

describe('rules', () => {
  it('are defined without a gap where they are counted', () => {
    const all = (letter: string, count: number) => Array.from({ length: count }, (_, n) => `${letter}${n + 1}`);
    const expected = [...all('D', 36), ...all('I-', 45), ...all('F-', 40), ...all('G', 20), ...all('R', 9)];
    expect(expected.filter((number) => !defined.has(number))).toEqual([]);
  });

  it('all rules that are cited exist', () => {
    expect(wrong(({ text }) => unknownIn(text))).toEqual([]);
  });

  it('are seen in the forms in which they are cited, and an unknown one is found', () => {
    const known = 'as asked (D14, I-3); F-12 to F-14, H94…H96, **S56**/R7: G16';
    expect(citedIn(known)).toEqual(['D14', 'I-3', 'F-12', 'F-14', 'H94', 'H96', 'S56', 'R7', 'G16']);
    expect(citedIn('x-D14, "sha512-WCtD3+S6=", MD5, utf-16, I-, AS112')).toEqual([]);
    expect(unknownIn(known)).toEqual([]);
    const planted = ['D', 'I-', 'F-', 'H', 'S', 'R', 'G'].map((letter) => `${letter}${900}`);
    expect(unknownIn(`As ${planted.join(', ')} demand.`)).toEqual(planted);
  });
});

describe('citations', () => {
  it('name no document that is not in the repository', () => {
    expect(wrong(({ text }) => text.match(ABSENT) ?? [])).toEqual([]);
    // Put together here, as this file is read like all others.
    const absent = [`DESIGN ${2}`, ['reliability', 'md'].join('.'), `reliability I-${3}`, `issue ${5}`];
    expect(absent.filter((text) => text.match(ABSENT) === null)).toEqual([]);
  });

  it('name only documents that are there', () => {
    expect(wrong(({ text }) => documentsIn(text).filter((document) => !isThere(document)))).toEqual([]);
    expect(isThere('docs/decisions/0007')).toBe(true);
    expect(isThere(`docs/decisions/${9999}`)).toBe(false);
  });

  it('name only parts that the contract has', () => {
    expect(wrong(({ text }) => partsOfTheContract(text).filter((part) => !contract.includes(part)))).toEqual([]);
    expect(partsOfTheContract('(spec "Events")')).toEqual(['Events']);
  });

  it('lead to files', () => {
    expect(wrong((text) => linksIn(text).filter((target) => !existsSync(join(ROOT, target))), markdown)).toEqual([]);
  });

  it('show every picture that is in git, and those are few', () => {
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8');
    const kept = Array.from(ignored.matchAll(/^!(docs\/dashboard\/.*\.png)$/gm), ([, path]) => path ?? '');
    const shown = new Set(markdown.flatMap(linksIn).filter((path) => path.endsWith('.png')));
    expect([...shown].sort()).toEqual(kept.sort());
    expect(kept.length).toBeLessThanOrEqual(8);
  });

  it('name only sources and tests that are there, in documents of the present state', () => {
    const lists = markdown.filter(({ path }) => /^(?:README|SECURITY|docs\/[\w-]+)\.md$/.test(path));
    const tests = (text: string) => text.match(/\b(?:src|test|rigs)\/[\w/-]+(?:\.\w+)*\.(?:ts|mjs|md)\b/g) ?? [];
    expect(wrong(({ text }) => tests(text).filter((path) => !existsSync(join(ROOT, path))), lists)).toEqual([]);
    expect(tests(invariants).length).toBeGreaterThan(100);
  });
});

describe('decisions', () => {
  const all = decisions.filter((path) => /\/\d{4}-/.test(path)).map(read);

  it('have a status with a date', () => {
    expect(wrong(({ text }) => (/^Status: \w+, \d{4}-\d\d-\d\d\b/m.test(text) ? [] : ['no status']), all)).toEqual([]);
    expect(all.length).toBeGreaterThan(20);
  });

  it('have a page each: what a handbook says is a link', () => {
    const lines = ({ text }: Text) => text.trimEnd().split('\n').length;
    expect(all.filter((one) => lines(one) > 60).map(({ path }) => path)).toEqual([]);
  });

  it('are listed in their index', () => {
    const index = read('docs/decisions/README.md').text;
    expect(all.filter(({ path }) => !index.includes(`](${posix.basename(path)})`)).map(({ path }) => path)).toEqual([]);
  });
});

describe('documents', () => {
  /** Words of docs/glossary.md that hide the actor; reports of runs are left as they were written. */
  const PRIVATE = /\b(?:somebody|nobody|whoever|everybody|anew|is at it)\b/gi;

  it('name the actor', () => {
    const written = markdown.filter(
      ({ path }) => !/^docs\/(?:evidence\/.*\d{4}|evidence\/(?:overload|planted)|spec)/.test(path),
    );
    expect(wrong(({ text }) => text.match(PRIVATE) ?? [], written)).toEqual([]);
    expect('Nobody knows whoever is at it.'.match(PRIVATE)).toHaveLength(3);
  });

  it('follow a request through at most ten files in a paragraph', () => {
    const [, ways = ''] = read('docs/architecture.md').text.split(/^## Five ways through the code$/m);
    const [section = ''] = ways.split(/^## /m);
    const paragraphs = section.split(/^- /m).slice(1);
    const files = paragraphs.map((text) => new Set(text.match(/(?<=`)(?:src|packages|prisma)\/[^`]+(?=`)/g)));
    expect(paragraphs).toHaveLength(5);
    expect(files.map(({ size }) => size).filter((size) => size < 5 || size > 10)).toEqual([]);
    expect(files.flatMap((one) => [...one]).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
