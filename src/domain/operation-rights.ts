import type { MemberRole } from './access.ts';
import type { KeyScope } from './key-rights.ts';

/** Rights to the fields of GraphQL. The server decides by these tables, and the dashboard offers nothing else. */

interface MutationRights {
  /** The least role of a person (docs/decisions/0029). */
  role: MemberRole;
  /** The scope of an API key with limits, besides `read`, which all of GraphQL needs (docs/decisions/0032). */
  scope: KeyScope;
}

/** A test fails until each mutation is here. */
export const MUTATIONS = {
  // Everyone may end an own session; the mutation checks the rest.
  endSession: { role: 'viewer', scope: 'admin' },

  // The state of jobs and queues.
  ackJob: { role: 'operator', scope: 'report' },
  answerTunnel: { role: 'operator', scope: 'manage' },
  cancelBulkAction: { role: 'operator', scope: 'manage' },
  cancelJob: { role: 'operator', scope: 'manage' },
  cancelJobs: { role: 'operator', scope: 'manage' },
  checkReceiver: { role: 'operator', scope: 'manage' },
  deferJob: { role: 'operator', scope: 'report' },
  deleteSavedView: { role: 'operator', scope: 'manage' },
  dismissErrorGroup: { role: 'operator', scope: 'manage' },
  endHold: { role: 'operator', scope: 'manage' },
  endHolds: { role: 'operator', scope: 'manage' },
  endTunnel: { role: 'operator', scope: 'manage' },
  examineReceiver: { role: 'operator', scope: 'manage' },
  extendAck: { role: 'operator', scope: 'report' },
  nackJob: { role: 'operator', scope: 'report' },
  pauseBulkAction: { role: 'operator', scope: 'manage' },
  pauseQueue: { role: 'operator', scope: 'manage' },
  pauseQueues: { role: 'operator', scope: 'manage' },
  publishJob: { role: 'operator', scope: 'publish' },
  publishJobs: { role: 'operator', scope: 'publish' },
  purgeQueue: { role: 'operator', scope: 'manage' },
  replayDeadLetter: { role: 'operator', scope: 'manage' },
  replayDeadLetters: { role: 'operator', scope: 'manage' },
  resetClock: { role: 'operator', scope: 'manage' },
  restoreErrorGroup: { role: 'operator', scope: 'manage' },
  resumeBulkAction: { role: 'operator', scope: 'manage' },
  resumeQueue: { role: 'operator', scope: 'manage' },
  resumeQueues: { role: 'operator', scope: 'manage' },
  runJobsNow: { role: 'operator', scope: 'manage' },
  runNow: { role: 'operator', scope: 'manage' },
  saveView: { role: 'operator', scope: 'manage' },
  silenceAlertRule: { role: 'operator', scope: 'manage' },
  testAlertRule: { role: 'operator', scope: 'manage' },
  travelInTime: { role: 'operator', scope: 'manage' },

  // Settings, secrets, and who has access.
  createAlertRule: { role: 'admin', scope: 'manage' },
  createApiKey: { role: 'admin', scope: 'admin' },
  createQueue: { role: 'admin', scope: 'manage' },
  deleteAlertRule: { role: 'admin', scope: 'manage' },
  deleteQueue: { role: 'admin', scope: 'manage' },
  endSessionsOfMember: { role: 'admin', scope: 'admin' },
  finishSecretRotation: { role: 'admin', scope: 'manage' },
  limitQueues: { role: 'admin', scope: 'manage' },
  markProduction: { role: 'admin', scope: 'manage' },
  restoreQueueLimits: { role: 'admin', scope: 'manage' },
  revokeApiKey: { role: 'admin', scope: 'admin' },
  rotateAlertRuleSecret: { role: 'admin', scope: 'manage' },
  rotateSigningSecret: { role: 'admin', scope: 'manage' },
  setBreaker: { role: 'admin', scope: 'manage' },
  setPayloadEncryption: { role: 'admin', scope: 'manage' },
  setStandardWebhooks: { role: 'admin', scope: 'manage' },
  updateAlertRule: { role: 'admin', scope: 'manage' },
  updateQueue: { role: 'admin', scope: 'manage' },
} as const satisfies Readonly<Record<string, MutationRights>>;

/** A mutation without an entry needs the most. */
export function rightsFor(mutation: string): MutationRights {
  const known: Readonly<Record<string, MutationRights>> = MUTATIONS;
  return (Object.hasOwn(known, mutation) ? known[mutation] : undefined) ?? { role: 'admin', scope: 'admin' };
}

/** The least role that may read each of these fields; a viewer may read all others. */
export const FIELD_ROLES = {
  'Query.members': 'admin',
  'Subscription.deliveryCopies': 'operator',
  'Subscription.tunnel': 'operator',
} as const satisfies Readonly<Record<string, MemberRole>>;
