import type { PayloadOp, Scalar } from '../chips.ts';
import { DEAD_REASONS, type DeadReasonName } from '../reasons.ts';
import { toSearch } from '../search.ts';
import { type DeadChip, formatDeadFilter } from './filter.ts';

type StoredCondition =
  | { kind: 'test'; path: string; op: PayloadOp; value?: unknown }
  | { kind: 'and'; of: StoredCondition[] }
  | { kind: 'or' | 'not' | 'anywhere' };

/** The stored filter of a replay, as it comes back: the members of the API's filter, dates as text. */
interface StoredFilter {
  fingerprints?: string[];
  reasons?: string[];
  webhookStatusCodes?: number[];
  errorContains?: string;
  payload?: StoredCondition;
  answers?: string[];
  dead?: { from?: string; to?: string };
}

/** The dead letters that a replay was asked for, as an address; null for actions on jobs. */
export function pathOfSelection(kind: string, selection: unknown, queueName: string | null): string | null {
  if (kind !== 'REPLAY_DEAD_LETTERS' || typeof selection !== 'object' || selection === null) return null;
  // The filter of this page has no words for these. Without them, the link would show more.
  if ('jobs' in selection || 'ids' in selection) return null;
  const { payload } = selection as StoredFilter;
  const ofPayload = payload === undefined ? [] : payloadChips(payload);
  if (ofPayload === null) return null;
  const { fingerprints, reasons, webhookStatusCodes, errorContains, answers, dead } = selection as StoredFilter;
  const chips: DeadChip[] = [];
  if (queueName !== null) chips.push({ word: 'queue', values: [queueName] });
  if (fingerprints?.length) chips.push({ word: 'cause', values: fingerprints });
  if (reasons?.length) chips.push({ word: 'reason', values: reasons.flatMap(reasonOf) });
  for (const text of answers ?? []) chips.push({ word: 'answer', text });
  if (webhookStatusCodes?.length) chips.push({ word: 'code', values: webhookStatusCodes.map(String) });
  if (errorContains) chips.push({ word: 'error', text: errorContains });
  if (dead?.from || dead?.to) chips.push({ word: 'died', range: { from: bound(dead.from), to: bound(dead.to) } });
  return `/dead${toSearch({ q: formatDeadFilter([...chips, ...ofPayload]) })}`;
}

/** Returns null if chips cannot express the condition. */
function payloadChips(condition: StoredCondition): DeadChip[] | null {
  if (condition.kind === 'and') {
    const all = condition.of.map(payloadChips);
    return all.includes(null) ? null : all.flatMap((chips) => chips ?? []);
  }
  if (condition.kind !== 'test' || (typeof condition.value === 'object' && condition.value !== null)) return null;
  const { path, op, value } = condition;
  return [{ word: 'payload', path, op, values: op === 'EXISTS' ? [] : [value as Scalar] }];
}

const reasonOf = (stored: string): DeadReasonName[] =>
  (Object.keys(DEAD_REASONS) as DeadReasonName[]).filter((name) => DEAD_REASONS[name] === stored.toUpperCase());

const bound = (at: string | undefined) => at ?? null;
