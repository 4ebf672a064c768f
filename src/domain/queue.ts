import { ofSettings, type SettingValues } from './queue-settings.ts';

/** The queue, and the limits of what belongs to it (spec "Queue" and "Limits"). */

/** Every setting that create and update share. Durations are seconds. */
export interface QueueSettings extends SettingValues {
  webhookUrl: string;
}

export interface Queue extends QueueSettings {
  id: string;
  name: string;
  createdAt: Date;
}

/** The response to a create, the only REST response that shows the secret (spec "Authentication", 4). */
export interface CreatedQueue extends Queue {
  signingSecret: string;
}

export const QUEUE_DEFAULTS = ofSettings((setting) => setting.default) as SettingValues;

/** Spec "Limits". Durations are seconds. */
export const LIMITS = {
  queueNameLength: 64,
  queueNamePattern: /^[a-z0-9-_]+$/,
  /** Not in the spec. A longer URL is a mistake, and every claim returns the URL. */
  webhookUrlLength: 2048,
  idempotencyKeyLength: 255,
  /** Not in the spec. A reason is one line for people, and is stored in every history entry. */
  reasonLength: 1000,
  publishDelay: { min: 0, max: 86_400 },
  accountConcurrency: 1000,
  /** Not in the spec: deleted queues of one account whose jobs are still stored. */
  tombstones: 1000,
  pageSize: { min: 1, max: 100, default: 25 },
  /** `offset` is a bigint in SQL, and an exact integer in JavaScript only below 2^53. */
  page: { min: 1, max: 1_000_000_000 },
  bulkReplay: 1000,
  payloadDepth: 100,
  // Beyond the spec (GraphQL).
  publishBatch: 1000,
  /** Time during which both signing secrets are used in a rotation: up to a week. */
  rotationOverlap: { min: 0, max: 604_800 },
  ackExtension: { min: 0.001, max: 86_400 },
  progressLength: 1000,
  apiKeyNameLength: 64,
  /** Names of queues that one API key is limited to. */
  queuesOfKey: 100,
  /** Keys of one account that are neither revoked nor expired. */
  apiKeys: 100,
} as const;
