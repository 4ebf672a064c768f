import type { SchemaType } from '../schema/types.ts';
import { toApi } from './engine.ts';
import { DEAD_REASONS, JOBS } from './jobs.ts';
import { choice, codesAs, formed, names, PART, TEXTS, TIMES, WHOLE } from './kinds.ts';
import { PAYLOAD } from './payload.ts';
import type { Chip, Context, Filter, Table } from './table.ts';

/**
 * The words of the filter of dead letters. Without `replayed:` it means those that were not replayed, as they are what
 * waits for a person.
 */
export const DEAD_LETTERS = {
  name: 'Dead letters',
  others: Object.keys(JOBS.words),
  bare: { queue: '', payload: '', error: 'error' },
  terms: {
    replayed: 'replayed:yes',
    'failed: not replayed': 'replayed:no',
    'fail: not replayed': 'replayed:no',
    broke: 'replayed:no',
    cancelled: 'reason:cancelled',
    'timed out': 'error:~timeout',
    timeouts: 'error:~timeout',
  },
  time: 'died',
  placeholder: (_isEmpty, seesPayloads) =>
    `Add: queue, reason, ${seesPayloads ? 'error, code, time of death, payload path' : 'code, time of death'}`,
  words: {
    queue: { kind: TEXTS, api: (_names, { queueIds }) => ({ queueIds }), hint: 'name of a queue' },
    receiver: { kind: TEXTS, api: 'receivers', hint: 'host of the webhook' },
    reason: {
      kind: names(DEAD_REASONS, 'reason'),
      api: 'reasons',
      hint: 'why a job died',
      examples: Object.keys(DEAD_REASONS),
    },
    error: { kind: PART, api: 'errorContains', needsPayloads: true, hint: 'text of the last error' },
    code: {
      kind: formed(/^[1-5]\d\d$/, 'A code of dead letters is such as 500 or 500,502.'),
      api: codesAs('webhookStatus'),
      hint: 'last answer, such as 500',
      examples: ['500', '502', '503', ['401', 'signature rejected']],
    },
    died: {
      kind: TIMES,
      api: 'dead',
      hint: 'time, such as >-2h',
      examples: [
        ['>-15m', 'in the last 15 min'],
        ['>-2h', 'in the last 2 h'],
        ['>-1d', 'in the last day'],
      ],
    },
    replayed: {
      kind: choice({ no: false, yes: true, any: null }),
      api: (value) => (value === 'any' ? {} : { replayed: value === 'yes' }),
      default: 'no',
      none: 'any',
      hint: 'no, yes or any',
      examples: [
        ['no', 'wait for a person'],
        ['yes', 'were sent again'],
        ['any', 'all of them'],
      ],
    },
    payload: { kind: PAYLOAD, api: 'payload', needsPayloads: true, hint: 'a path in the payload' },
    // The first line of the receiver's answer, as the groups have it; empty for those without one.
    answer: { kind: WHOLE, api: (text) => ({ answers: [text] }), needsPayloads: true },
    cause: {
      kind: formed(/^[0-9a-f]{16}$/, 'A cause is 16 hexadecimal digits.', (value) => `…${value.slice(-5)}`),
      api: 'fingerprints',
    },
  },
} as const satisfies Table;

export type DeadChip = Chip<typeof DEAD_LETTERS>;
export type DeadFilter = Filter<typeof DEAD_LETTERS>;
export type DeadLetterFilter = SchemaType<'DeadLetterFilter'>;

/** `queueIds` are those of the names in the filter. */
export const toDeadLetterFilter = (filter: DeadFilter, context: Required<Context>) =>
  toApi(DEAD_LETTERS, filter, context) as DeadLetterFilter;

/** The names of the queues, for which the API has ids. */
export function queueNamesOf(filter: DeadFilter): readonly string[] {
  return filter.find((chip) => chip.word === 'queue')?.value ?? [];
}

/** Whether dead letters match that were not replayed. */
export const isReplayable = (filter: DeadFilter) =>
  !filter.some((chip) => chip.word === 'replayed' && chip.value === 'yes');
