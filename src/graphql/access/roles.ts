import type { MemberRole } from '../../domain/access.ts';
import type { KeyScope } from '../../domain/key-rights.ts';

/**
 * The least role that may call each mutation (docs/decisions/0029). A mutation that is missing here needs `admin`, and
 * a test fails until it is added.
 */
export const MUTATION_ROLES: Readonly<Record<string, MemberRole>> = {
  // Everyone may end an own session; the mutation checks the rest.
  endSession: 'viewer',

  // The state of jobs and queues.
  ackJob: 'operator',
  cancelBulkAction: 'operator',
  cancelJob: 'operator',
  cancelJobs: 'operator',
  checkReceiver: 'operator',
  examineReceiver: 'operator',
  deferJob: 'operator',
  deleteSavedView: 'operator',
  dismissErrorGroup: 'operator',
  endHold: 'operator',
  endHolds: 'operator',
  extendAck: 'operator',
  nackJob: 'operator',
  pauseBulkAction: 'operator',
  pauseQueue: 'operator',
  pauseQueues: 'operator',
  publishJob: 'operator',
  publishJobs: 'operator',
  purgeQueue: 'operator',
  replayDeadLetter: 'operator',
  replayDeadLetters: 'operator',
  restoreErrorGroup: 'operator',
  resetClock: 'operator',
  resumeBulkAction: 'operator',
  resumeQueue: 'operator',
  resumeQueues: 'operator',
  runJobsNow: 'operator',
  runNow: 'operator',
  saveView: 'operator',
  silenceAlertRule: 'operator',
  testAlertRule: 'operator',
  answerTunnel: 'operator',
  endTunnel: 'operator',
  travelInTime: 'operator',

  // Settings, secrets, and who has access.
  createAlertRule: 'admin',
  createApiKey: 'admin',
  createQueue: 'admin',
  deleteAlertRule: 'admin',
  deleteQueue: 'admin',
  endSessionsOfMember: 'admin',
  finishSecretRotation: 'admin',
  limitQueues: 'admin',
  markProduction: 'admin',
  restoreQueueLimits: 'admin',
  revokeApiKey: 'admin',
  rotateAlertRuleSecret: 'admin',
  rotateSigningSecret: 'admin',
  setBreaker: 'admin',
  setPayloadEncryption: 'admin',
  setStandardWebhooks: 'admin',
  updateAlertRule: 'admin',
  updateQueue: 'admin',
};

/**
 * The scope that an API key with limits needs for each mutation, besides `read`, which all of GraphQL needs
 * (docs/decisions/0032). A mutation that is missing here needs `admin`, and a test fails until it is added.
 */
export const MUTATION_SCOPES: Readonly<Record<string, KeyScope>> = {
  publishJob: 'publish',
  publishJobs: 'publish',

  ackJob: 'report',
  deferJob: 'report',
  extendAck: 'report',
  nackJob: 'report',

  cancelBulkAction: 'manage',
  cancelJob: 'manage',
  cancelJobs: 'manage',
  checkReceiver: 'manage',
  examineReceiver: 'manage',
  createAlertRule: 'manage',
  createQueue: 'manage',
  deleteAlertRule: 'manage',
  deleteQueue: 'manage',
  deleteSavedView: 'manage',
  dismissErrorGroup: 'manage',
  endHold: 'manage',
  endHolds: 'manage',
  finishSecretRotation: 'manage',
  limitQueues: 'manage',
  pauseBulkAction: 'manage',
  pauseQueue: 'manage',
  pauseQueues: 'manage',
  purgeQueue: 'manage',
  replayDeadLetter: 'manage',
  replayDeadLetters: 'manage',
  restoreErrorGroup: 'manage',
  restoreQueueLimits: 'manage',
  resetClock: 'manage',
  resumeBulkAction: 'manage',
  resumeQueue: 'manage',
  resumeQueues: 'manage',
  rotateAlertRuleSecret: 'manage',
  rotateSigningSecret: 'manage',
  runJobsNow: 'manage',
  runNow: 'manage',
  saveView: 'manage',
  setBreaker: 'manage',
  setPayloadEncryption: 'manage',
  setStandardWebhooks: 'manage',
  silenceAlertRule: 'manage',
  testAlertRule: 'manage',
  answerTunnel: 'manage',
  endTunnel: 'manage',
  markProduction: 'manage',
  travelInTime: 'manage',
  updateAlertRule: 'manage',
  updateQueue: 'manage',

  createApiKey: 'admin',
  endSession: 'admin',
  endSessionsOfMember: 'admin',
  revokeApiKey: 'admin',
};

/** The least role that may read each of these fields; a viewer may read all others. */
export const FIELD_ROLES: Readonly<Record<string, MemberRole>> = {
  'Query.members': 'admin',
  'Subscription.deliveryCopies': 'operator',
  'Subscription.tunnel': 'operator',
};
