import { type Access, accessOf, MEMBER_ROLES, type MemberRole } from './access.ts';

/** The grants of OIDC_ROLES: for each claim, the access of a person whose claim has a value. */
export type RoleTable = ReadonlyMap<string, ReadonlyMap<string, Access>>;

/** Stands for any value of a claim. */
const ANY = '*';
const PAYLOADS = '+payloads';

/**
 * Reads `{"groups": {"ops": "operator+payloads", "support": "viewer"}}`.
 * @returns the table, or the text of a problem
 */
export function parseRoleTable(value: unknown): RoleTable | string {
  if (!isObject(value)) return EXAMPLE;
  const table = new Map<string, ReadonlyMap<string, Access>>();
  for (const [claim, values] of Object.entries(value)) {
    if (!isObject(values)) return EXAMPLE;
    const grants = new Map<string, Access>();
    for (const [name, grant] of Object.entries(values)) {
      const access = parseGrant(grant);
      if (access === null) return `${claim}.${name}: must be viewer, operator or admin, and may end in ${PAYLOADS}`;
      grants.set(name, access);
    }
    if (grants.size > 0) table.set(claim, grants);
  }
  return table.size === 0 ? EXAMPLE : table;
}

const EXAMPLE = 'must be JSON such as {"groups":{"ops":"operator+payloads","support":"viewer"}}';

function parseGrant(grant: unknown): Access | null {
  if (typeof grant !== 'string') return null;
  const mayViewPayloads = grant.endsWith(PAYLOADS);
  const role = mayViewPayloads ? grant.slice(0, -PAYLOADS.length) : grant;
  return isRole(role) ? accessOf(role, mayViewPayloads) : null;
}

/**
 * Returns the access of a person with these claims. If several values match, the highest role counts, and payloads are
 * visible if one of the values grants that.
 * @returns null if no value matches: the person may not sign in
 */
export function accessByClaims(table: RoleTable, claims: Readonly<Record<string, unknown>>): Access | null {
  const matching = [...table].flatMap(([claim, grants]) => {
    const values = valuesOf(claimIn(claims, claim));
    const any = values.length > 0 ? grants.get(ANY) : undefined;
    return [any, ...values.map((value) => grants.get(value))].filter((access) => access !== undefined);
  });
  if (matching.length === 0) return null;
  const role = MEMBER_ROLES[Math.max(...matching.map((access) => MEMBER_ROLES.indexOf(access.role)))] ?? 'viewer';
  return accessOf(
    role,
    matching.some((access) => access.mayViewPayloads),
  );
}

/** A claim's name may contain dots itself, as in `https://example.com/roles`; otherwise dots lead into objects. */
function claimIn(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

/** A claim has one value or a list. Empty texts and `false` count as no value. */
function valuesOf(claim: unknown): string[] {
  return [claim].flat().flatMap((value) => {
    if (typeof value === 'string' && value !== '') return [value];
    return typeof value === 'number' || value === true ? [String(value)] : [];
  });
}

function isRole(text: string): text is MemberRole {
  return (MEMBER_ROLES as readonly string[]).includes(text);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
