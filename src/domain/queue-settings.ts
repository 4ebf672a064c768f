/**
 * The settings of a queue (spec "Queue" and "Limits"), each once: the contract, GraphQL, the client, the command line
 * and the dashboard follow this table. Their descriptions are in `contract/setting-descriptions`, so that browsers and
 * the client need not load them. The URL of the webhook has a parser instead (`webhook-url`).
 */

export const QUEUE_MODES = ['standard', 'ack'] as const;
export type QueueMode = (typeof QUEUE_MODES)[number];

export const ACK_TIMEOUT_ACTIONS = ['retry', 'dead'] as const;
export type AckTimeoutAction = (typeof ACK_TIMEOUT_ACTIONS)[number];

export const BACKOFF_TYPES = ['fixed', 'exponential'] as const;
export type BackoffType = (typeof BACKOFF_TYPES)[number];

interface Setting {
  /** The jobs to which a change applies: all, those that are delivered later, or those that are published later. */
  readonly applies: 'now' | 'delivery' | 'published';
}

/** `whole` numbers, and `seconds`, which may be fractions of one. */
export interface NumberSetting extends Setting {
  readonly kind: 'whole' | 'seconds';
  readonly min: number;
  readonly max: number;
  /** Null: the setting may be null, and is by default. */
  readonly default: number | null;
}

interface SwitchSetting extends Setting {
  readonly kind: 'switch';
  readonly default: boolean;
}

interface ChoiceSetting extends Setting {
  readonly kind: 'choice';
  readonly values: readonly [string, ...string[]];
  readonly default: string;
}

export type QueueSetting = NumberSetting | SwitchSetting | ChoiceSetting;

/** The largest value of a column. */
const MAX_INTEGER = 2_147_483_647;

/** In the order of the contract. */
export const QUEUE_SETTINGS = {
  maxAttempts: { kind: 'whole', min: 1, max: 25, default: 3, applies: 'published' },
  maxDefers: { kind: 'whole', min: 0, max: 1000, default: 50, applies: 'delivery' },
  concurrency: { kind: 'whole', min: 1, max: 500, default: 5, applies: 'now' },
  dlqEnabled: { kind: 'switch', default: true, applies: 'now' },
  mode: { kind: 'choice', values: QUEUE_MODES, default: 'standard', applies: 'delivery' },
  // The spec sets no maximum.
  rateLimitMax: { kind: 'whole', min: 1, max: MAX_INTEGER, default: null, applies: 'now' },
  rateLimitWindow: { kind: 'seconds', min: 0.001, max: 3600, default: 60, applies: 'now' },
  ackTimeout: { kind: 'seconds', min: 0.001, max: 86_400, default: 300, applies: 'delivery' },
  ackTimeoutAction: { kind: 'choice', values: ACK_TIMEOUT_ACTIONS, default: 'retry', applies: 'delivery' },
  backoffType: { kind: 'choice', values: BACKOFF_TYPES, default: 'exponential', applies: 'published' },
  backoffDelay: { kind: 'seconds', min: 0, max: 3600, default: 2, applies: 'published' },
} as const satisfies Readonly<Record<string, QueueSetting>>;

export type SettingName = keyof typeof QUEUE_SETTINGS;

type ValueOf<One extends QueueSetting> = One extends SwitchSetting
  ? boolean
  : One extends ChoiceSetting
    ? One['values'][number]
    : One extends { readonly default: null }
      ? number | null
      : number;

/** The values of the settings. Durations are in seconds. */
export type SettingValues = { -readonly [Name in SettingName]: ValueOf<(typeof QUEUE_SETTINGS)[Name]> };

export const SETTING_NAMES = Object.keys(QUEUE_SETTINGS) as SettingName[];

/** Returns an object with a member for each setting. */
export function ofSettings<Value>(of: (setting: QueueSetting, name: SettingName) => Value): Record<SettingName, Value> {
  const members = SETTING_NAMES.map((name) => [name, of(QUEUE_SETTINGS[name], name)] as const);
  return Object.fromEntries(members) as Record<SettingName, Value>;
}

/** Whether a value above the minimum is always allowed. */
export const isUnbounded = ({ max }: NumberSetting): boolean => max === MAX_INTEGER;
