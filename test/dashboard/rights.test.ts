import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getNamedType, isInputObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { parseDeadFilter, toDeadLetterFilter } from '../../src/dashboard/filter/dead/filter.ts';
import { deadSuggestions } from '../../src/dashboard/filter/dead/suggest.ts';
import { formatChip, formatFilter } from '../../src/dashboard/filter/format.ts';
import { toJobFilter } from '../../src/dashboard/filter/job-filter.ts';
import { parseFilter } from '../../src/dashboard/filter/parse.ts';
import { permitted } from '../../src/dashboard/filter/permitted.ts';
import { lookUpsFor, suggestionsFor } from '../../src/dashboard/filter/suggest.ts';
import { paletteItems } from '../../src/dashboard/shell/palette-items.ts';
import {
  type Deed,
  hasRole,
  may,
  mayFilterBy,
  NO_SEARCH,
  type Rights,
  ROLE_OF,
  ROLE_TO_READ,
  type Role,
  refusal,
} from '../../src/dashboard/words/rights.ts';
import { mayBeSent } from '../../src/graphql/access/enforce.ts';
import { FIELD_ROLES, MUTATION_ROLES } from '../../src/graphql/access/roles.ts';
import { schema } from '../../src/graphql/schema.ts';

const rightsOf = (role: Role, mayViewPayloads = false): Rights => ({ role, mayViewPayloads });
const VIEWER = rightsOf('VIEWER');
const upper = (table: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(table).map(([name, role]) => [name, role.toUpperCase()]));

describe('the page and the server', () => {
  it('need the same role for each mutation', () => {
    expect(ROLE_OF).toEqual(upper(MUTATION_ROLES));
  });

  it('need the same role to read', () => {
    const fields = Object.entries(ROLE_TO_READ).map(([field, role]) => [`Query.${field}`, role]);
    expect(Object.fromEntries(fields)).toEqual(upper(FIELD_ROLES));
  });

  /** Whether the server refuses a part of the value to a client without the right to see payloads. */
  function isRefused(typeName: string, value: object): boolean {
    const type = schema.getType(typeName);
    if (!isInputObjectType(type)) throw new Error(`${typeName} is no input type`);
    return Object.entries(value).some(([name, part]) => {
      const member = type.getFields()[name];
      if (member === undefined) throw new Error(`${typeName} has no ${name}`);
      if (!mayBeSent(typeName, member)) return true;
      const inner = getNamedType(member.type);
      const parts = [part].flat().filter((one) => typeof one === 'object' && one !== null);
      return isInputObjectType(inner) && parts.some((one) => isRefused(inner.name, one));
    });
  }

  it.each([
    ...['state:dead,held', 'queue:orders', 'code:5xx', 'error:~timeout', 'key:~a', 'attempts:>2'],
    ...['created:>-2h', 'completed:>-2h', 'scheduled:<+1h', 'payload.customer.id:42', 'payload.a:*'],
  ])('agree on who may filter jobs by %s', (text) => {
    const [chip] = parseFilter(text);
    const refused = isRefused('JobFilter', toJobFilter(parseFilter(text), 0));
    expect([chip?.word === 'unknown', mayFilterBy(VIEWER, chip?.word ?? '')]).toEqual([false, !refused]);
  });

  it.each(['replayed:yes', 'queue:orders', 'reason:nacked', 'error:~timeout', 'code:500', 'died:>-2h'])(
    'agree on who may filter dead letters by %s',
    (text) => {
      const chip = parseDeadFilter(text).find(({ word }) => text.startsWith(word));
      const refused = isRefused('DeadLetterFilter', toDeadLetterFilter(parseDeadFilter(text), [], 0));
      expect(mayFilterBy(VIEWER, chip?.word ?? '')).toBe(!refused);
    },
  );
});

describe('a deed', () => {
  it.each([
    ['VIEWER', ['endSession']],
    ['OPERATOR', ['endSession', 'runNow', 'publishJob', 'purgeQueue']],
    ['ADMIN', ['endSession', 'runNow', 'publishJob', 'purgeQueue', 'updateQueue', 'createApiKey']],
  ] as const)('is offered to the role %s if the server permits it', (role, deeds) => {
    const asked = ['endSession', 'runNow', 'publishJob', 'purgeQueue', 'updateQueue', 'createApiKey'] as const;
    expect(asked.filter((deed) => may(rightsOf(role), deed))).toEqual(deeds);
  });

  it('is not offered before the rights are known', () => {
    expect([may(null, 'endSession'), hasRole(null, 'VIEWER')]).toEqual([false, false]);
  });

  it('that is reached all the same is refused in a sentence', () => {
    expect(refusal(VIEWER, 'ADMIN', 'make a queue')).toBe('Only an admin may make a queue. You are a viewer.');
    expect(refusal(VIEWER, 'OPERATOR', 'send jobs')).toBe(
      'Only an operator or an admin may send jobs. You are a viewer.',
    );
    expect(refusal(rightsOf('OPERATOR'), 'ADMIN', 'make a queue')).toMatch(/You are an operator\.$/);
  });
});

describe('the sources', () => {
  const ROOT = join(import.meta.dirname, '../../src/dashboard');
  const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).map((file) => file.replaceAll('\\', '/'));
  const read = (pattern: RegExp) =>
    files
      .filter((file) => pattern.test(file))
      .map((file) => readFileSync(join(ROOT, file), 'utf8'))
      .join('\n');
  const operations = read(/\boperations(\/[\w-]+)?\.ts$/);
  const pages = read(/^(features|shell|parts)\/(?!.*\b(model|operations)\b).*\.tsx?$/);
  const used = (Object.keys(ROLE_OF) as Deed[]).filter((deed) => new RegExp(`\\b${deed}\\(`).test(operations));

  it('use many of the mutations', () => {
    expect(used.length).toBeGreaterThan(15);
  });

  it.each(used.filter((deed) => ROLE_OF[deed] !== 'VIEWER'))('ask for the right to %s', (deed) => {
    expect(pages).toMatch(
      new RegExp(`deed(=|: )[^\\n]*["']${deed}["']|may\\(rights, '${deed}'\\)|ROLE_OF\\.${deed}\\b`),
    );
  });
});

describe('without the right to see payloads', () => {
  const known = {
    ...{ queues: ['orders'], paths: [{ value: 'customer.id', count: 2 }], values: [{ value: '42', count: 1 }] },
  };

  it('no condition on payloads or errors is suggested', () => {
    const all = ['', 'e', 'p', 'customer', 'payload.customer.id:', 'error:', '42'];
    const offered = (rights: Rights | null) =>
      all.flatMap((text) =>
        suggestionsFor(
          text,
          lookUpsFor(text, rights).path === null ? { ...known, paths: [], values: [] } : known,
          rights,
        ),
      );
    const isHidden = ({ does }: ReturnType<typeof suggestionsFor>[number]) =>
      /payload|error|"word":"text"|"text":"text:/.test(JSON.stringify(does));
    expect(offered(VIEWER).filter(isHidden)).toEqual([]);
    expect(offered(rightsOf('VIEWER', true)).filter(isHidden).length).toBeGreaterThan(5);
    // All else stays.
    expect(offered(VIEWER)).toEqual(offered(null).filter((suggestion) => !isHidden(suggestion)));
  });

  it('no such condition is suggested for dead letters either', () => {
    const offered = (rights: Rights) => ['', 'ti'].flatMap((text) => deadSuggestions(text, known, rights));
    const isHidden = ({ does }: ReturnType<typeof deadSuggestions>[number]) =>
      /payload|error/.test(JSON.stringify(does));
    const all = offered(rightsOf('VIEWER', true));
    expect(all.filter(isHidden).length).toBeGreaterThan(3);
    expect(offered(VIEWER)).toEqual(all.filter((suggestion) => !isHidden(suggestion)));
  });

  it('nothing is looked up in payloads', () => {
    expect(lookUpsFor('customer', VIEWER)).toMatchObject({ path: null, valuesOf: null });
    expect(lookUpsFor('customer', rightsOf('VIEWER', true)).path).toBe('customer');
  });

  it('a condition of a link says why it does not hold, and stays in the address', () => {
    const text = 'state:dead error:~timeout payload.customer.id:42';
    const filter = permitted(parseFilter(text), VIEWER, formatChip);
    expect(filter).toEqual([
      parseFilter('state:dead')[0],
      { word: 'unknown', text: 'error:~timeout', problem: NO_SEARCH },
      { word: 'unknown', text: 'payload.customer.id:42', problem: NO_SEARCH },
    ]);
    expect(formatFilter(filter as ReturnType<typeof parseFilter>)).toBe(text);
    expect(permitted(parseFilter(text), rightsOf('VIEWER', true), formatChip)).toEqual(parseFilter(text));
  });

  it('the palette offers no jobs by their error', () => {
    const ids = (rights: Rights) => paletteItems('timeout', [], [], rights).map(({ id }) => id);
    expect(ids(VIEWER)).toEqual(['jobs key']);
    expect(ids(rightsOf('VIEWER', true))).toEqual(['jobs key', 'jobs error']);
  });
});
