import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { kindOfStatus, RequestError, retryDelayMs } from '../../packages/dashboard/api/errors.ts';
import { outcomeOf } from '../../packages/dashboard/api/outcome.ts';
import { nameOf, textOf } from '../../packages/query/schema/graphql.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGES = join(ROOT, 'packages');
const DASHBOARD = join(PACKAGES, 'dashboard');
const schema = buildSchema(readFileSync(join(ROOT, 'schema.graphql'), 'utf8'));

const modules = await Promise.all(
  ['dashboard', 'query']
    .flatMap((name) =>
      readdirSync(join(PACKAGES, name), { recursive: true, encoding: 'utf8' }).map((file) => join(name, file)),
    )
    .filter((file) => /[\\/](operations([\\/][\w-]+)?|schema[\\/](fragments|suggest))\.ts$/.test(file))
    .map(async (file) => {
      const exported = (await import(join(PACKAGES, file))) as Record<string, Parameters<typeof textOf>[0]>;
      return Object.entries(exported).map(([name, document]) => ({ file, name, text: textOf(document), document }));
    }),
);
const documents = modules.flat();
const operations = documents.filter(({ text }) => /^\s*(query|mutation|subscription)\b/m.test(text));

describe('each operation', () => {
  it.each(operations)('$name is valid against schema.graphql', ({ text }) => {
    expect(validate(schema, parse(text)).map(({ message }) => message)).toEqual([]);
  });

  it('has its own name, which is that of its export', () => {
    expect(operations.length).toBeGreaterThan(50);
    expect(operations.filter(({ name, document }) => nameOf(document) !== name)).toEqual([]);
    expect(new Set(operations.map(({ name }) => name)).size).toBe(operations.length);
  });
});

it('no source uses mutations of the query library, which its build leaves out', () => {
  const sources = readdirSync(DASHBOARD, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.includes('generated'))
    .map((file) => [file, readFileSync(join(DASHBOARD, file), 'utf8')] as const);
  const uses = sources.filter(([, text]) => /\b(useMutation\w*|useIsMutating|getMutationCache)\b/.test(text));
  expect(sources.length).toBeGreaterThan(200);
  expect(uses.map(([file]) => file)).toEqual([]);
});

describe('fragments', () => {
  it('say which object they are of, so that the live stream reaches it', () => {
    const live = documents.filter(({ name }) => ['QueueNow', 'JobRow', 'ActionNow'].includes(name));
    expect(live).toHaveLength(3);
    expect(live.filter(({ text }) => !/\{\s*__typename id\b/.test(text))).toEqual([]);
  });
});

describe('the outcome of a mutation', () => {
  it('is its payload, or a refusal', () => {
    expect(outcomeOf({ job: { id: 'a' } })).toEqual({ ok: true, value: { job: { id: 'a' } } });
    expect(outcomeOf({ message: 'the job is completed' })).toMatchObject({
      ok: false,
      message: 'the job is completed',
    });
    const refused = outcomeOf({
      message: 'the input is not valid',
      formErrors: ['at least one setting'],
      fieldErrors: [{ field: 'name', messages: ['too long.', 'not a name.'] }],
    });
    expect(refused).toMatchObject({ ok: false, message: 'at least one setting' });
    expect(refused.ok === false && refused.fieldErrors.get('name')).toBe('too long. not a name.');
  });
});

describe('a failed request', () => {
  it('is told apart by what one can do', () => {
    expect([401, 403, 402, 400, 429, 503, 500, 502].map(kindOfStatus)).toEqual([
      ...['signed-out', 'refused', 'refused', 'refused', 'busy', 'busy', 'server', 'server'],
    ]);
    expect(new RequestError('refused', '', { at: 0 }).passes).toBe(false);
    expect(new RequestError('network', '', { at: 0 }).passes).toBe(true);
    expect(new RequestError('version', '', { at: 0 }).passes).toBe(true);
  });

  it('is repeated after 1 s to 30 s, or as the server asks', () => {
    const error = new RequestError('busy', '', { at: 0 });
    expect([0, 1, 2, 10].map((failures) => retryDelayMs(failures, error))).toEqual([1000, 2000, 4000, 30_000]);
    expect(retryDelayMs(0, new RequestError('busy', '', { at: 0, retryAfterMs: 7000 }))).toBe(7000);
  });
});
