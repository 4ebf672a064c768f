import type { SchemaType } from '../schema/types.ts';
import { CODES } from '../words/answers.ts';
import { chipsOf, toApi } from './engine.ts';
import { choice, codesAs, FIELD } from './kinds.ts';
import type { Context, Fields, Table } from './table.ts';

/** The last 24 hours, if nothing else is chosen. */
export const SINCE = {
  '15m': { label: 'the last 15 minutes', ms: 900_000 },
  '1h': { label: 'the last hour', ms: 3_600_000 },
  '3d': { label: 'the last 3 days', ms: 3 * 86_400_000 },
} as const;
const DAY_MS = 86_400_000;

export const TOOK = {
  '1s': { label: 'longer than 1 s', ms: 1000 },
  '5s': { label: 'longer than 5 s', ms: 5000 },
  '15s': { label: 'longer than 15 s', ms: 15_000 },
} as const;

const codesOf = codesAs('webhookStatus');

/** The fields of the list of attempts of many jobs. */
export const ATTEMPTS = {
  name: 'Attempts',
  words: {
    queue: { kind: FIELD, api: (_name, { queueIds }) => ({ queueIds }) },
    since: { kind: choice(SINCE), api: (name: keyof typeof SINCE, { now }) => after(now - SINCE[name].ms) },
    code: { kind: choice(CODES), api: (code) => codesOf(code === 'busy' ? ['429', '503', '529'] : [code]) },
    took: { kind: choice(TOOK), api: (name: keyof typeof TOOK) => ({ durationMs: { min: TOOK[name].ms + 1 } }) },
    answer: { kind: FIELD, api: 'responseContains', needsPayloads: true },
  },
} as const satisfies Table;

const after = (from: number) => ({ at: { from: new Date(from).toISOString() } });

/** `queueIds` are those of the queue's name. */
export function toAttemptFilter(fields: Fields<typeof ATTEMPTS>, context: Required<Context>) {
  return {
    ...after(context.now - DAY_MS),
    ...toApi(ATTEMPTS, chipsOf(fields), context),
  } as SchemaType<'AttemptFilter'>;
}
