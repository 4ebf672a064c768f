import { DEAD_LETTERS, type DeadChip } from './dead-letters.ts';
import { formatFilter } from './engine.ts';
import { DEAD_REASONS, type DeadReasonName } from './jobs.ts';
import type { PayloadOp, Scalar } from './payload.ts';
import { toSearch } from './search.ts';

type StoredCondition =
  | { kind: 'test'; path: string; op: PayloadOp; value?: unknown }
  | { kind: 'and'; of: StoredCondition[] }
  | { kind: 'or' | 'not' | 'anywhere' };

/** The stored filter of a replay, as it comes back: the members of the API's filter, dates as text. */
interface StoredFilter {
  fingerprints?: string[];
  receivers?: string[];
  reasons?: string[];
  webhookStatusCodes?: number[];
  errorContains?: string;
  payload?: StoredCondition;
  answers?: string[];
  dead?: { from?: string; to?: string };
}

/** The dead letters that a replay was requested for, as an address; null for actions on jobs. */
export function pathOfSelection(kind: string, selection: unknown, queueName: string | null): string | null {
  if (kind !== 'REPLAY_DEAD_LETTERS' || typeof selection !== 'object' || selection === null) return null;
  // The filter of this page has no words for these. Without them, the link would show more.
  if ('jobs' in selection || 'ids' in selection) return null;
  // The ids of queues are those that delivered to the receivers at the start, if there are receivers.
  if ('queueIds' in selection && !('receivers' in selection)) return null;
  const { payload } = selection as StoredFilter;
  const ofPayload = payload === undefined ? [] : payloadChips(payload);
  if (ofPayload === null) return null;
  const { receivers, fingerprints, reasons, webhookStatusCodes, errorContains, answers, dead } =
    selection as StoredFilter;
  const chips: DeadChip[] = [];
  if (queueName !== null) chips.push({ word: 'queue', value: [queueName] });
  if (receivers?.length) chips.push({ word: 'receiver', value: receivers });
  if (fingerprints?.length) chips.push({ word: 'cause', value: fingerprints });
  if (reasons?.length) chips.push({ word: 'reason', value: reasons.flatMap(reasonOf) });
  for (const text of answers ?? []) chips.push({ word: 'answer', value: text });
  if (webhookStatusCodes?.length) chips.push({ word: 'code', value: webhookStatusCodes.map(String) });
  if (errorContains) chips.push({ word: 'error', value: errorContains });
  if (dead?.from || dead?.to) chips.push({ word: 'died', value: { from: bound(dead.from), to: bound(dead.to) } });
  return `/dead${toSearch({ q: formatFilter(DEAD_LETTERS, [...chips, ...ofPayload]) })}`;
}

/** Returns null if chips cannot express the condition. */
function payloadChips(condition: StoredCondition): DeadChip[] | null {
  if (condition.kind === 'and') {
    const all = condition.of.map(payloadChips);
    return all.includes(null) ? null : all.flatMap((chips) => chips ?? []);
  }
  if (condition.kind !== 'test' || (typeof condition.value === 'object' && condition.value !== null)) return null;
  const { path, op, value } = condition;
  return [{ word: 'payload', value: { path, op, values: op === 'EXISTS' ? [] : [value as Scalar] } }];
}

const reasonOf = (stored: string): DeadReasonName[] =>
  (Object.keys(DEAD_REASONS) as DeadReasonName[]).filter((name) => DEAD_REASONS[name] === stored.toUpperCase());

const bound = (at: string | undefined) => at ?? null;
