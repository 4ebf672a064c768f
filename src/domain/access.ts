/** The permissions of a person or a program: a role, and the right to see payloads. */

/** From the least to the most. Each role may do all that the roles before it may do. */
export const MEMBER_ROLES = ['viewer', 'operator', 'admin'] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];

export interface Access {
  role: MemberRole;
  /** Whether payloads, answers of webhooks and texts of receivers are visible. */
  mayViewPayloads: boolean;
}

/** The access of an API key, and of the operator. */
export const FULL_ACCESS: Access = Object.freeze({ role: 'admin', mayViewPayloads: true });

export function hasRole({ role }: Access, needed: MemberRole): boolean {
  return MEMBER_ROLES.indexOf(role) >= MEMBER_ROLES.indexOf(needed);
}

/** An admin always sees payloads: an admin may create an API key, and every API key sees them. */
export function accessOf(role: MemberRole, mayViewPayloads: boolean): Access {
  return { role, mayViewPayloads: mayViewPayloads || role === 'admin' };
}
