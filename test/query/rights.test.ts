import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { paletteItems } from '../../packages/dashboard/shell/palette-items.ts';
import {
  hasRole,
  type Mutation,
  may,
  type Rights,
  type Role,
  refusal,
  roleFor,
} from '../../packages/query/words/rights.ts';
import { MUTATIONS } from '../../src/domain/operation-rights.ts';

const rightsOf = (role: Role, mayViewPayloads = false): Rights => ({ role, mayViewPayloads });
const VIEWER = rightsOf('VIEWER');

describe('a mutation', () => {
  it.each([
    ['VIEWER', ['endSession']],
    ['OPERATOR', ['endSession', 'runNow', 'publishJob', 'purgeQueue']],
    ['ADMIN', ['endSession', 'runNow', 'publishJob', 'purgeQueue', 'updateQueue', 'createApiKey']],
  ] as const)('is offered to the role %s if the server permits it', (role, mutations) => {
    const asked = ['endSession', 'runNow', 'publishJob', 'purgeQueue', 'updateQueue', 'createApiKey'] as const;
    expect(asked.filter((mutation) => may(rightsOf(role), mutation))).toEqual(mutations);
  });

  it('is not offered before the rights are known', () => {
    expect([may(null, 'endSession'), hasRole(null, 'VIEWER')]).toEqual([false, false]);
  });

  it('a mutation without its right is refused in a sentence', () => {
    expect(refusal(VIEWER, 'ADMIN', 'create a queue')).toBe('Only an admin may create a queue. You are a viewer.');
    expect(refusal(VIEWER, 'OPERATOR', 'send jobs')).toBe(
      'Only an operator or an admin may send jobs. You are a viewer.',
    );
    expect(refusal(rightsOf('OPERATOR'), 'ADMIN', 'create a queue')).toMatch(/You are an operator\.$/);
  });
});

describe('the sources', () => {
  const ROOT = join(import.meta.dirname, '../../packages/dashboard');
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const read = (pattern: RegExp) =>
    files
      .filter((file) => pattern.test(file))
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n');
  const operations = read(/\boperations(\/[\w-]+)?\.ts$/);
  const pages = read(/^(features|shell|parts)\/(?!.*\b(model|operations)\b).*\.tsx?$/);
  const used = (Object.keys(MUTATIONS) as Mutation[]).filter((mutation) =>
    new RegExp(`\\b${mutation}\\(`).test(operations),
  );

  it('use many of the mutations', () => {
    expect(used.length).toBeGreaterThan(15);
  });

  it.each(used.filter((mutation) => roleFor(mutation) !== 'VIEWER'))('ask for the right to %s', (mutation) => {
    expect(pages).toMatch(
      new RegExp(`mutation(=|: )[^\\n]*["']${mutation}["']|may\\(rights, '${mutation}'\\)|roleFor\\('${mutation}'\\)`),
    );
  });
});

describe('without the right to see payloads', () => {
  it('the palette offers no jobs by their error', () => {
    const ids = (rights: Rights) => paletteItems('timeout', [], [], rights).map(({ id }) => id);
    expect(ids(VIEWER)).toEqual(['jobs key:~timeout']);
    expect(ids(rightsOf('VIEWER', true))).toEqual([
      ...['jobs error:~timeout', 'jobs text:~timeout', 'jobs key:~timeout'],
    ]);
  });
});
