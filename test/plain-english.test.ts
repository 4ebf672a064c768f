import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Reads all code and checks it against the words of docs/glossary.md. The words of documents: rules.test.ts. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Words that hide the actor, or for which docs/glossary.md has a term. Patterns in lower case; a space stands for a
 * hyphen or a line break, too.
 */
const UNCLEAR = [
  ...['somebody', 'nobody', 'everybody', 'anybody', 'whoever', 'whomever', 'whosever', 'whatever way', 'anew'],
  ...['is at it', 'hears?', 'lets? go', 'life signs?', 'signs? of life', 'death watch', 'in a circle'],
];

/** Folders whose code is checked; `.` stands for the files of the root. */
const FOLDERS = ['src', 'prisma', 'test', 'rigs', 'scripts', 'packages', '.'];
/** Files that may have unclear words, and why. */
const WORDS_ALLOWED: Readonly<Record<string, string>> = {
  'test/plain-english.test.ts': 'has the list',
  'test/rules.test.ts': 'has the list for documents',
  'scripts/test-matrix.mjs': '`nobody` is the name of a system user',
  'test/support/pgbouncer.ts': 'the same',
};

/**
 * Beginnings of a comment that leave its subject to the code below: a comment begins with a sentence or a noun. Line
 * comments begin where the line above is none.
 */
const WITHOUT_SUBJECT =
  /(?:\/\*\*?\s+(?:\*\s+)?|(?<!^[ \t]*(?:\/\/|--).*\n[ \t]*)(?:\/\/\/?|--) )(What|Who|Of|That of|The same|As above)\b/gm;
/** First words of a title that continues its `describe` or another title, and therefore says nothing in a log. */
const CONTINUING = [
  ...['or', 'nor', 'and', 'neither', 'both', 'another', 'that', 'whose', 'where', 'while', 'when', 'if', 'unless'],
  ...['though', 'of', 'by', 'with', 'without', 'in', 'into', 'for', 'to', 'on', 'from', 'at', 'about', 'before'],
  ...['after', 'during', 'under'],
];
const TITLE = new RegExp(`(?:\\bit(?:\\.\\w+)*|\\))\\(\\s*(['"\`])((?:${CONTINUING.join('|')})\\b.*?)\\1`, 'gi');

/** The unclear words of a source text. `noBody` is none: only the first letter of a word may be a capital. */
function unclearWords(text: string): string[] {
  const patterns = UNCLEAR.map((word) => {
    const [first = '', rest] = [word[0], word.slice(1)];
    return `[${first}${first.toUpperCase()}]${rest.replaceAll(' ', '[ -]')}`;
  });
  const words = new RegExp(`(?<![A-Za-z])(${patterns.join('|')})(?![A-Za-z])`, 'g');
  const lines = text.replace(/\s*\n\s*(\/{2,3}|--|\*(?!\/))?\s*/g, ' ');
  return [...lines.matchAll(words)].map(([word]) => word);
}

function openingsWithoutSubject(text: string): string[] {
  return [...text.matchAll(WITHOUT_SUBJECT)].map(([, opening = '']) => opening);
}

/** The titles of tests in a source text that begin with such a word; those of `describe.each`, too. */
function continuingTitles(text: string): string[] {
  return [...text.matchAll(TITLE)].map(([, , title = '']) => title);
}

/** A line of a comment, also within SQL of a source text. */
const COMMENT = /^\s*(\/\/|\/\*|\*\s|--\s)/;

/** A migration never changes once it was applied. */
const IS_APPLIED = /^prisma\/migrations\//;

function styleSheets(): string[] {
  return readdirSync(join(ROOT, 'packages/dashboard'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.css'))
    .map((file) => join('packages/dashboard', file));
}

/** Paths of all files with code, from the root, with slashes. */
function codeFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== '.', encoding: 'utf8' }).map((file) =>
      join(folder, file).split(sep).join('/'),
    ),
  ).filter(
    (file) => /\.(tsx?|mts|mjs|sql|prisma)$/.test(file) && !/(^|\/)(node_modules|generated|dist|out)\//.test(file),
  );
}

describe('plain English', () => {
  it.each([
    ['// Nobody needs a key.', ['Nobody']],
    ["description: 'Whether somebody has stopped it.'", ['somebody']],
    ["// somebody else's", ['somebody']],
    ['-- transactions that wait in a\n-- circle', ['in a circle']],
    ['/**\n * The last sign\n * of life.\n */', ['sign of life']],
    ['constraint queue_paused_by_somebody check', ['somebody']],
    ['a life-sign, made anew; which process is at it', ['life-sign', 'anew', 'is at it']],
    ['c.noBody(), renewed, in a circled list, at its end, a shear, outlets gone', []],
  ])('finds the unclear words of %j', (text, words) => {
    expect(unclearWords(text)).toEqual(words);
  });

  it.each([
    ['/** What a claim may take. */', ['What']],
    ['/**\n * Of one queue.\n */', ['Of']],
    ['  // The same for all.\n  // What follows.', ['The same']],
    ['/// That of the key.\nscopes text, -- Who may', ['That of', 'Who']],
    ['// Jobs.\n// What follows goes on.\n/** Offers, and what they do. */', []],
  ])('finds the comments without a subject in %j', (text, openings) => {
    expect(openingsWithoutSubject(text)).toEqual(openings);
  });

  it('is in sources, SQL, tests, benchmarks, scripts and packages', () => {
    const found = codeFiles().flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const words = [...unclearWords(text), ...openingsWithoutSubject(text)];
      return words.map((word) => ({ file, word }));
    });
    expect(found.filter(({ file }) => !(file in WORDS_ALLOWED))).toEqual([]);
    // An exception that is no longer needed has to go.
    expect(new Set(found.map(({ file }) => file))).toEqual(new Set(Object.keys(WORDS_ALLOWED)));
  });

  it('has comments of at most 120 columns, as code has', () => {
    const wide = [...codeFiles().filter((file) => !IS_APPLIED.test(file)), ...styleSheets()].flatMap((file) =>
      readFileSync(join(ROOT, file), 'utf8')
        .split('\n')
        .flatMap((line, n) => (line.length > 120 && COMMENT.test(line) ? [`${file}:${n + 1}`] : [])),
    );
    expect(wide).toEqual([]);
  });

  it.each([
    ['it(', 'or a claim: exactly one wins', true],
    ['it.each(ROWS)(', 'of %s', true],
    ['it.skipIf(IS_OLD)(\n  ', 'In ack mode it waits', true],
    ['it(', 'a job of a paused queue waits', false],
    ['it(', 'origins are compared', false],
  ])('looks at the beginning of a title, after %j: %s', (call, title, isFound) => {
    expect(continuingTitles(`${call}'${title}', () => {});`)).toEqual(isFound ? [title] : []);
  });

  it('is in titles of tests: each names its subject, so that it can be read alone in a log', () => {
    const wrong = codeFiles().flatMap((file) =>
      continuingTitles(readFileSync(join(ROOT, file), 'utf8')).map(
        (title) =>
          `${file}: "${title}" continues another title: begin with the subject, as "a job of a paused queue …"`,
      ),
    );
    expect(wrong).toEqual([]);
  });
});
