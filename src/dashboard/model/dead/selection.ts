import type { DeadReason } from '../cause.ts';
import { toSearch } from '../filter/search.ts';
import { type DeadChip, formatDeadFilter } from './filter.ts';

/** The stored filter of a replay, as it comes back: the members of the API's filter, dates as text. */
interface StoredFilter {
  fingerprints?: string[];
  reasons?: string[];
  webhookStatusCodes?: number[];
  errorContains?: string;
  dead?: { from?: string; to?: string };
}

/** The dead letters that a replay was asked for, as an address; null for actions on jobs. */
export function pathOfSelection(kind: string, selection: unknown, queueName: string | null): string | null {
  if (kind !== 'REPLAY_DEAD_LETTERS' || typeof selection !== 'object' || selection === null) return null;
  const { fingerprints, reasons, webhookStatusCodes, errorContains, dead } = selection as StoredFilter;
  const chips: DeadChip[] = [];
  if (queueName !== null) chips.push({ word: 'queue', values: [queueName] });
  if (fingerprints?.length) chips.push({ word: 'cause', values: fingerprints });
  if (reasons?.length) chips.push({ word: 'reason', values: reasons.map((name) => name.toUpperCase() as DeadReason) });
  if (webhookStatusCodes?.length) chips.push({ word: 'code', values: webhookStatusCodes.map(String) });
  if (errorContains) chips.push({ word: 'error', text: errorContains });
  if (dead?.from || dead?.to) chips.push({ word: 'died', range: { from: bound(dead.from), to: bound(dead.to) } });
  return `/dead${toSearch({ q: formatDeadFilter(chips) })}`;
}

const bound = (at: string | undefined) => at ?? null;
