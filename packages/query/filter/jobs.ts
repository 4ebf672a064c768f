import type { SchemaType } from '../schema/types.ts';
import type { JobState } from '../words/words.ts';
import { toApi } from './engine.ts';
import { choice, codesAs, formed, ID, NUMBERS, names, PART, PART_OR_WHOLE, TEXTS, TIMES } from './kinds.ts';
import { PAYLOAD } from './payload.ts';
import type { Chip, Filter, Table } from './table.ts';

/** The states of jobs in a filter, with their names in the API. */
export const STATES = {
  due: 'DUE',
  scheduled: 'SCHEDULED',
  retrying: 'RETRYING',
  held: 'HELD',
  processing: 'PROCESSING',
  'awaiting-ack': 'AWAITING_ACK',
  completed: 'COMPLETED',
  dead: 'DEAD',
} as const;
export type StateName = keyof typeof STATES;

/** States in the words of people, each for one state or more. */
const OTHER_STATES = {
  pending: ['due', 'scheduled', 'retrying', 'held'],
  waiting: ['due', 'scheduled', 'retrying', 'held'],
  queued: ['due', 'scheduled', 'retrying', 'held'],
  delayed: ['scheduled'],
  ack: ['awaiting-ack'],
  failed: ['dead', 'retrying'],
  failing: ['retrying'],
  running: ['processing', 'awaiting-ack'],
  active: ['processing', 'awaiting-ack'],
  done: ['completed'],
  succeeded: ['completed'],
} as const satisfies Record<string, readonly StateName[]>;

/** Why jobs died and why they wait, with their names in the API. */
export const DEAD_REASONS = {
  'attempts-exhausted': 'ATTEMPTS_EXHAUSTED',
  'ack-timeout': 'ACK_TIMEOUT',
  nacked: 'NACKED',
  'holds-exhausted': 'DEFER_CAP_EXHAUSTED',
  'asked-to-wait-too-long': 'RETRY_AFTER_EXCEEDS_LIFETIME',
  'lifetime-ended': 'DELIVERY_LIFETIME_EXCEEDED',
  cancelled: 'CANCELLED',
  'queue-deleted': 'QUEUE_DELETED',
} as const;
export type DeadReasonName = keyof typeof DEAD_REASONS;

const WAITS = {
  turn: 'DUE',
  delay: 'DELAYED',
  backoff: 'BACKOFF',
  hold: 'HELD',
  'queue-hold': 'QUEUE_HELD',
  probe: 'PROBE_IN_FLIGHT',
  pause: 'PAUSED',
  slot: 'CONCURRENCY',
  'rate-limit': 'RATE_LIMIT',
} as const;

const FAILED = `state:${OTHER_STATES.failed}`;
const LATE = 'state:due scheduled:<-1m';
const BY_QUEUE = 'waits:pause,queue-hold,probe,slot,rate-limit';
const NOT_COMPLETED = `state:${Object.keys(STATES).filter((state) => state !== 'completed')}`;

const CODES = formed(/^([1-5]\d\d|[1-5]xx|0)$/, 'A code is such as 500, 5xx, or 0 for no answer.');

const TAGS = formed(/^[a-z0-9._-]{1,32}$/, 'A tag has 1 to 32 characters: a-z, 0-9, -, _ and the full stop.');

/** The words of the filter of jobs, in the order in which they are offered. */
export const JOBS = {
  name: 'Jobs',
  bare: { payload: '', queue: '', text: 'payload', error: 'error', key: 'idempotency key' },
  bareIsValue: true,
  terms: {
    ...Object.fromEntries(Object.entries(OTHER_STATES).map(([name, states]) => [name, `state:${states.join(',')}`])),
    ...Object.fromEntries(Object.keys(STATES).map((state) => [state, `state:${state}`])),
    cancelled: 'reason:cancelled',
    'timed out': 'error:~timeout',
    timeouts: 'error:~timeout',
    failures: FAILED,
    fail: FAILED,
    errors: FAILED,
    broken: FAILED,
    broke: FAILED,
    'stuck: due for more than 5 minutes': 'state:due scheduled:<-5m',
    'stuck: waits for its queue': BY_QUEUE,
    'blocked: waits for its queue': BY_QUEUE,
    'late: due for more than a minute': LATE,
    'overdue: due for more than a minute': LATE,
    'paused: its queue is paused': 'waits:pause',
    'rate limited': 'waits:rate-limit',
    'lost: not completed': NOT_COMPLETED,
    'missing: not completed': NOT_COMPLETED,
  },
  time: 'created',
  placeholder: (isEmpty, seesPayloads) => {
    if (!isEmpty) return 'Add a condition';
    return `Filter: ${seesPayloads ? 'state, queue, error, code, time, payload path' : 'state, queue, code, time'}`;
  },
  others: ['cause', 'answer', 'died'],
  words: {
    state: {
      kind: names(STATES, 'state', OTHER_STATES),
      api: 'states',
      hint: 'due, held, dead …',
      examples: Object.keys(STATES),
    },
    queue: { kind: TEXTS, api: 'queueNames', hint: 'a name' },
    tag: { kind: TAGS, api: 'queueTags', name: 'tagged', hint: 'a tag of the queue' },
    receiver: { kind: TEXTS, api: 'receivers', hint: 'host of the webhook' },
    code: {
      kind: CODES,
      api: codesAs('webhookStatus'),
      hint: '500, 5xx, 0 for no answer',
      examples: ['5xx', '4xx', '500', '429', '401', '0'],
    },
    error: {
      kind: PART,
      api: 'errorContains',
      needsPayloads: true,
      hint: 'contains a text',
      examples: ['~timeout', '~connection_refused', '~HTTP'],
    },
    key: {
      kind: PART_OR_WHOLE,
      api: ({ text, isWhole }) => ({ [isWhole ? 'idempotencyKey' : 'idempotencyKeyContains']: text }),
      hint: 'idempotency key: ~part, =whole',
    },
    created: {
      kind: TIMES,
      api: 'created',
      hint: 'when it was published; days are of UTC',
      examples: ['>-15m', '>-1h', '>-4h', '>-1d', '>-3d'],
    },
    attempts: { kind: NUMBERS, api: 'attempts', hint: '3, >2, 2..4', examples: ['1', '>1', '>2'] },
    ever: {
      kind: CODES,
      api: codesAs('anyWebhookStatus'),
      name: 'ever answered',
      hint: 'a code that any attempt got',
      examples: ['5xx', '429', '500', '0'],
    },
    reason: {
      kind: names(DEAD_REASONS, 'reason'),
      api: 'deadReasons',
      hint: 'why it died',
      examples: Object.keys(DEAD_REASONS),
    },
    replayed: {
      kind: choice({ no: false, yes: true, any: null }),
      api: (value) => (value === 'any' ? {} : { replayed: value === 'yes' }),
      hint: 'yes or no',
      examples: ['yes', 'no'],
    },
    waits: {
      kind: names(WAITS, 'wait'),
      api: 'waitReasons',
      name: 'waits for',
      hint: 'what it waits for',
      examples: Object.keys(WAITS),
    },
    holds: { kind: NUMBERS, api: 'deferCount', hint: 'how often it was held', examples: ['>0', '>2'] },
    completed: {
      kind: TIMES,
      api: 'completed',
      hint: 'when it was completed; days are of UTC',
      examples: ['>-1h', '>-1d'],
    },
    scheduled: { kind: TIMES, api: 'scheduled', hint: 'when the next delivery is due', examples: ['<+1h', '>+1h'] },
    text: {
      kind: PART,
      api: (text) => ({ payload: { anywhere: text } }),
      name: 'payload',
      needsPayloads: true,
      hint: 'anywhere in the payload',
    },
    payload: { kind: PAYLOAD, api: 'payload', needsPayloads: true, hint: 'a path in the payload' },
    action: { kind: ID, api: 'actionId' },
  },
} as const satisfies Table;

export type JobChip = Chip<typeof JOBS>;
export type JobsFilter = Filter<typeof JOBS>;
export type JobFilter = SchemaType<'JobFilter'>;

export const toJobFilter = (filter: JobsFilter, now: number) => toApi(JOBS, filter, { now }) as JobFilter;

/** Whether a job of a list still matches, as far as its state says. */
export function stillMatches(filter: JobsFilter, { state }: { state: JobState }): boolean {
  const states = filter.find((chip) => chip.word === 'state')?.value;
  return states?.includes(state.toLowerCase().replace('_', '-') as StateName) ?? true;
}
