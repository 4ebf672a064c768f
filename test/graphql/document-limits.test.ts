import { buildSchema, GraphQLError, parse, validate } from 'graphql';
import { createYoga, type Plugin } from 'graphql-yoga';
import { describe, expect, it } from 'vitest';
import { DOCUMENT_LIMITS, keptDocuments, limitsRule, parseWithinLimit } from '../../src/graphql/document-limits.ts';

/** Each limit on its last allowed value and one above. test/e2e/graphql-limits.test.ts sends documents over HTTP. */

const schema = buildSchema('type Query { me: Query, label: String }');
const { depth, aliases, directives, tokens } = DOCUMENT_LIMITS;

const nested = (levels: number) => `${'{ me '.repeat(levels - 1)}{ label }${'}'.repeat(levels - 1)}`;
const aliased = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: label`).join(' ');
const skipped = (count: number) => '@skip(if: false) '.repeat(count);

/** The refusal, or null when the document passes. */
function refusalOf(work: () => unknown): { message: string; code: unknown } | null {
  try {
    work();
    return null;
  } catch (error) {
    if (!(error instanceof GraphQLError)) throw error;
    return { message: error.message, code: error.extensions.code };
  }
}

const validated = (document: string) => refusalOf(() => validate(schema, parse(document), [limitsRule]));

const PASSED: [name: string, document: string][] = [
  ['levels', nested(depth)],
  ['levels of fragments', `${nested(depth - 1).replace('label', '... { ...F }')} fragment F on Query { label }`],
  ['aliases', `{ ${aliased(aliases)} }`],
  ['aliases of __typename', `{ ${Array.from({ length: 100 }, (_, i) => `a${i}: __typename`).join(' ')} }`],
  ['directives', `{ label ${skipped(directives)} }`],
  ['introspection', `{ __schema ${nested(30).replaceAll('me', 'ofType')} }`],
  ['fragments that contain themselves', '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }'],
  ['a fragment that is not there', '{ ...A }'],
  ['two operations, each within the limit', `query A ${nested(depth)} query B ${nested(depth)}`],
];

const REFUSED: [name: string, document: string, message: string][] = [
  ['levels', nested(depth + 1), 'Query depth limit of 14 exceeded, found 15'],
  ['levels in a fragment', `{ ...F } fragment F on Query ${nested(depth + 1)}`, 'Query depth limit of 14'],
  ['aliases', `{ ${aliased(aliases + 1)} }`, 'Aliases limit of 30 exceeded, found 31'],
  ['aliases in a fragment', `{ ...F me { ...F } } fragment F on Query { ${aliased(16)} }`, 'Aliases limit of 30'],
  ['directives', `{ label ${skipped(directives + 1)} }`, 'Directives limit of 50 exceeded, found 51'],
  ['directives of the operation', `query ${skipped(directives + 1)} { label }`, 'Directives limit of 50'],
  ['directives of a spread', `{ ...F ${skipped(51)} } fragment F on Query { label }`, 'Directives limit of 50'],
  ['the second operation', `query A { label } query B ${nested(depth + 1)}`, 'Query depth limit of 14'],
];

describe('the limits of a document', () => {
  it.each(PASSED)('pass %s', (_name, document) => {
    expect(validated(document)).toBeNull();
  });

  it.each(REFUSED)('refuse too many %s', (_name, document, message) => {
    expect(validated(document)).toEqual({ message: expect.stringContaining(message), code: 'TOO_COMPLEX' });
  });

  it('pass 3000 tokens and refuse 3001', () => {
    const document = (count: number) => `{${' label'.repeat(count - 2)}}`;
    expect(refusalOf(() => parseWithinLimit(document(tokens)))).toBeNull();
    expect(refusalOf(() => parseWithinLimit(document(tokens + 1)))).toEqual({
      message: expect.stringContaining('Token limit of 3000 exceeded'),
      code: 'TOO_COMPLEX',
    });
  });

  it('count comments, which the document keeps', () => {
    const document = (comments: number) => `${'#\n'.repeat(comments)}{ label }`;
    expect(refusalOf(() => parseWithinLimit(document(tokens - 3)))).toBeNull();
    expect(refusalOf(() => parseWithinLimit(document(tokens - 2)))).toEqual({
      message: expect.stringContaining('Token limit of 3000 exceeded, found 3001'),
      code: 'TOO_COMPLEX',
    });
  });

  it('pass a name of 200 characters and refuse 201', () => {
    const document = (length: number) => `query ${'x'.repeat(length)} { label }`;
    expect(refusalOf(() => parseWithinLimit(document(200)))).toBeNull();
    expect(refusalOf(() => parseWithinLimit(document(201)))).toEqual({
      message: expect.stringContaining('Length of names limit of 200 exceeded, found 201'),
      code: 'TOO_COMPLEX',
    });
  });

  it('leave a syntax error as it is', () => {
    expect(refusalOf(() => parseWithinLimit('{ label'))).toEqual({
      message: 'Syntax Error: Expected Name, found <EOF>.',
      code: undefined,
    });
  });
});

describe('kept documents', () => {
  const LIMITS = { documents: 3, tokens: 100, length: 200 };

  /** Sends documents one after the other. @returns for each whether it was parsed */
  async function parsed(...documents: string[]): Promise<boolean[]> {
    let isParsed = false;
    const noting: Plugin = {
      onParse: ({ parseFn, setParseFn }) =>
        setParseFn((...args) => {
          isParsed = true;
          return parseFn(...args);
        }),
    };
    const plugins = [keptDocuments(LIMITS), noting];
    const yoga = createYoga({ schema, plugins, parserAndValidationCache: false, logging: false });
    const found: boolean[] = [];
    for (const query of documents) {
      isParsed = false;
      const body = JSON.stringify({ query });
      const headers = { 'content-type': 'application/json' };
      await (await yoga.fetch('http://localhost/graphql', { method: 'POST', headers, body })).text();
      found.push(isParsed);
    }
    return found;
  }

  it('are the valid ones that came last', async () => {
    const [a, b, c, d] = ['{ label }', '{ me { label } }', '{ a: label }', '{ b: label }'] as const;
    expect(await parsed(a, a, b, c, a, d, a, b)).toEqual([true, false, true, true, false, true, false, true]);
  });

  it.each([
    ['refused', '{ labels }'],
    ['of wrong syntax', '{ label'],
    ['long', `{ label } # ${'x'.repeat(200)}`],
  ])('are none that is %s', async (_name, document) => {
    expect(await parsed(document, document)).toEqual([true, true]);
  });

  it('have a bound on their tokens together', async () => {
    // 3, 74 and 78 tokens: the last one leaves no room for the others.
    const documents = ['{ label }', `{${' me{label}'.repeat(18)}}`, `{${' me{label}'.repeat(19)}}`];
    expect(await parsed(...documents, ...documents)).toEqual([true, true, true, true, true, true]);
  });
});
