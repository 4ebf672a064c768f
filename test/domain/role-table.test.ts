import { describe, expect, it } from 'vitest';
import { accessByClaims, parseRoleTable, type RoleTable } from '../../src/domain/role-table.ts';

const SUPPORT = { role: 'viewer', mayViewPayloads: false };
const OPS = { role: 'operator', mayViewPayloads: true };
const ADMIN = { role: 'admin', mayViewPayloads: true };

function table(value: unknown): RoleTable {
  const parsed = parseRoleTable(value);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
}

const GROUPS = table({
  groups: {
    support: 'viewer',
    ops: 'operator+payloads',
    admins: 'admin',
    auditors: 'viewer+payloads',
    '7': 'operator',
  },
  'realm_access.roles': { lead: 'admin' },
  'https://example.com/roles': { a: 'operator' },
});

describe('the access by claims', () => {
  it.each<[claims: Record<string, unknown>, access: object | null]>([
    [{ groups: ['support'] }, SUPPORT],
    [{ groups: 'support' }, SUPPORT],
    [{ groups: ['x', 'ops'] }, OPS],
    [{ groups: ['support', 'ops'] }, OPS],
    [{ groups: ['admins'] }, ADMIN],
    [{ groups: 7 }, { role: 'operator', mayViewPayloads: false }],
    // The highest role, and the right of another value.
    [{ groups: [7, 'auditors'] }, OPS],
    [{ groups: ['support'], realm_access: { roles: ['lead'] } }, ADMIN],
    [{ 'https://example.com/roles': ['a'] }, { role: 'operator', mayViewPayloads: false }],
    [{ groups: [] }, null],
    [{ groups: ['Support'] }, null],
    [{ groups: ['constructor', '__proto__', 'toString'] }, null],
    [{ groups: { support: true } }, null],
    [{ groups: null }, null],
    [{ realm_access: 'roles' }, null],
    [{}, null],
  ])('%j', (claims, access) => {
    expect(accessByClaims(GROUPS, claims)).toEqual(access);
  });

  it('is the same for everyone with a claim when the value is *', () => {
    const all = table({ sub: { '*': 'viewer', boss: 'admin' } });
    expect(accessByClaims(all, { sub: 'ada' })).toEqual(SUPPORT);
    expect(accessByClaims(all, { sub: 'boss' })).toEqual(ADMIN);
    expect(accessByClaims(all, { sub: '' })).toBeNull();
  });
});

describe('OIDC_ROLES', () => {
  it.each([[null], [[]], [{}], ['viewer'], [{ groups: 'viewer' }], [{ groups: {} }], [{ groups: [] }]])(
    '%j is refused with an example',
    (value) => {
      expect(parseRoleTable(value)).toMatch(/^must be JSON such as \{/);
    },
  );

  it.each(['', 'boss', 'Viewer', 'viewer+', 'viewer+payload', '+payloads', 1, null])(
    'the grant %j is refused',
    (grant) => {
      expect(parseRoleTable({ groups: { ops: grant } })).toBe(
        'groups.ops: must be viewer, operator or admin, and may end in +payloads',
      );
    },
  );
});
