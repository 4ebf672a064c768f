/**
 * The rights of a person in the dashboard. The server decides; the page does not offer what the server would refuse.
 */

/** From the least to the most. Each role may do all that the roles before it may do. */
const ROLES = ['VIEWER', 'OPERATOR', 'ADMIN'] as const;
export type Role = (typeof ROLES)[number];

export interface Rights {
  role: Role;
  /** Whether payloads, answers of receivers and their texts are visible. */
  mayViewPayloads: boolean;
}

/** The least role for each mutation. A test compares it with the server's table. */
export const ROLE_OF = {
  endSession: 'VIEWER',

  ackJob: 'OPERATOR',
  answerTunnel: 'OPERATOR',
  cancelBulkAction: 'OPERATOR',
  cancelJob: 'OPERATOR',
  cancelJobs: 'OPERATOR',
  checkReceiver: 'OPERATOR',
  deferJob: 'OPERATOR',
  deleteSavedView: 'OPERATOR',
  dismissErrorGroup: 'OPERATOR',
  endHold: 'OPERATOR',
  endHolds: 'OPERATOR',
  endTunnel: 'OPERATOR',
  examineReceiver: 'OPERATOR',
  extendAck: 'OPERATOR',
  nackJob: 'OPERATOR',
  pauseBulkAction: 'OPERATOR',
  pauseQueue: 'OPERATOR',
  pauseQueues: 'OPERATOR',
  publishJob: 'OPERATOR',
  publishJobs: 'OPERATOR',
  purgeQueue: 'OPERATOR',
  replayDeadLetter: 'OPERATOR',
  replayDeadLetters: 'OPERATOR',
  restoreErrorGroup: 'OPERATOR',
  resetClock: 'OPERATOR',
  resumeBulkAction: 'OPERATOR',
  resumeQueue: 'OPERATOR',
  resumeQueues: 'OPERATOR',
  runJobsNow: 'OPERATOR',
  runNow: 'OPERATOR',
  saveView: 'OPERATOR',
  silenceAlertRule: 'OPERATOR',
  testAlertRule: 'OPERATOR',
  travelInTime: 'OPERATOR',

  createAlertRule: 'ADMIN',
  createApiKey: 'ADMIN',
  createQueue: 'ADMIN',
  deleteAlertRule: 'ADMIN',
  deleteQueue: 'ADMIN',
  endSessionsOfMember: 'ADMIN',
  finishSecretRotation: 'ADMIN',
  limitQueues: 'ADMIN',
  markProduction: 'ADMIN',
  restoreQueueLimits: 'ADMIN',
  revokeApiKey: 'ADMIN',
  rotateAlertRuleSecret: 'ADMIN',
  rotateSigningSecret: 'ADMIN',
  setBreaker: 'ADMIN',
  setPayloadEncryption: 'ADMIN',
  setStandardWebhooks: 'ADMIN',
  updateAlertRule: 'ADMIN',
  updateQueue: 'ADMIN',
} as const satisfies Readonly<Record<string, Role>>;
export type Mutation = keyof typeof ROLE_OF;

/** The least role that may read each of these; a viewer may read all else. The same test compares it. */
export const ROLE_TO_READ = { members: 'ADMIN' } as const satisfies Readonly<Record<string, Role>>;

/** False as long as the rights are not known. */
export function hasRole(rights: Rights | null, needed: Role): boolean {
  return rights !== null && ROLES.indexOf(rights.role) >= ROLES.indexOf(needed);
}

export const may = (rights: Rights | null, mutation: Mutation) => hasRole(rights, ROLE_OF[mutation]);

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
