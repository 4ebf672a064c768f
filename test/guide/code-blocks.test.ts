import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { transformWithOxc } from 'vite';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { pagesOf } from '../../scripts/guide/pages.mjs';

/**
 * Code in the documents is code: each block parses, and GraphQL fits the schema. Blocks of shell are in
 * `test/handbook.test.ts`, the receivers in other languages run in `test/e2e/receivers-in-languages.test.ts`.
 */

const ROOT = join(import.meta.dirname, '../..');
const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'));

interface Block {
  /** Document and line. */
  at: string;
  language: string;
  text: string;
}

const blocks: Block[] = pagesOf(ROOT).flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return Array.from(
    text.matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm),
    ({ index, 1: language = '', 2: block = '' }) => ({
      at: `${page}:${text.slice(0, index).split('\n').length + 1}`,
      language,
      text: block,
    }),
  );
});

const of = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

/** Each language that blocks have, and the proof that they are right. A new language needs one, too. */
const PROVEN = new Set([
  ...['ts', 'js', 'graphql', 'json', 'yaml', 'sh', 'text'],
  ...['py', 'go', 'rb', 'php', 'java', 'rust', 'toml'],
  ...['sql', 'ini', 'mermaid'],
]);

describe('a code block', () => {
  it('has a language that a test knows', () => {
    expect(
      blocks.filter(({ language }) => !PROVEN.has(language)).map(({ at, language }) => `${at} ${language}`),
    ).toEqual([]);
    expect(blocks.length).toBeGreaterThan(100);
  });

  it.each(of('ts', 'js'))('$at is TypeScript', async ({ text, at }) => {
    await expect(transformWithOxc(text, `${at.replace(/\W/g, '-')}.ts`)).resolves.toBeDefined();
  });

  it.each(of('graphql'))('$at fits the schema', ({ text }) => {
    // An ellipsis stands for a value of the reader.
    expect(validate(schema, parse(text)).map(({ message }) => message)).toEqual([]);
  });

  it.each(of('json'))('$at is JSON', ({ text }) => {
    expect(() => JSON.parse(text)).not.toThrow();
  });

  it.each(of('yaml'))('$at is YAML', ({ text }) => {
    expect(() => parseYaml(text)).not.toThrow();
  });
});
