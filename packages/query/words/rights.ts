import { MEMBER_ROLES, type MemberRole } from '../../../src/domain/access.ts';
import { FIELD_ROLES, MUTATIONS } from '../../../src/domain/operation-rights.ts';

/**
 * The rights of a person in the dashboard. The server decides; the page does not offer what the server would refuse.
 */

export type Role = Uppercase<MemberRole>;

/** GraphQL has the names of roles in capitals. */
const inCapitals = (role: MemberRole) => role.toUpperCase() as Role;

/** From the least to the most. */
const ROLES = MEMBER_ROLES.map(inCapitals);

export interface Rights {
  role: Role;
  /** Whether payloads, answers of receivers and their texts are visible. */
  mayViewPayloads: boolean;
}

export type Mutation = keyof typeof MUTATIONS;

/** The least role for a mutation. */
export const roleFor = (mutation: Mutation): Role => inCapitals(MUTATIONS[mutation].role);

/** The least role that may read the members. */
export const ROLE_FOR_MEMBERS = inCapitals(FIELD_ROLES['Query.members']);

/** False as long as the rights are not known. */
export function hasRole(rights: Rights | null, needed: Role): boolean {
  return rights !== null && ROLES.indexOf(rights.role) >= ROLES.indexOf(needed);
}

export const may = (rights: Rights | null, mutation: Mutation) => hasRole(rights, roleFor(mutation));

export const wordOfRole = (role: Role) => role.toLowerCase();

/** "Only an admin may change its settings. You are a viewer." */
export function refusal({ role }: Rights, needed: Role, what: string): string {
  const who = needed === 'ADMIN' ? 'Only an admin' : 'Only an operator or an admin';
  return `${who} may ${what}. You are ${role === 'VIEWER' ? 'a' : 'an'} ${wordOfRole(role)}.`;
}

/** Stands in the place of a payload or an answer. */
export const NO_PAYLOADS = 'You have no right to see payloads.';
/** Why jobs cannot be found by them. */
export const NO_SEARCH = 'You have no right to see payloads and answers, so you cannot search in them.';
