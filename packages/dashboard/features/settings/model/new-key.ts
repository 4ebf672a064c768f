import { DAY_MS } from './api-keys.ts';

/** The form of a new API key, with the least rights first. */

/** Rights with their names in the API. The last one includes all others. */
export const SCOPES = [
  { name: 'PUBLISH', label: 'Publish jobs', hint: 'enough for most programs' },
  {
    name: 'READ',
    label: 'Read queues and jobs, payloads included',
    hint: 'GraphQL and waiting for an outcome need it',
  },
  { name: 'REPORT', label: 'Report on jobs', hint: 'for receivers in ack mode' },
  { name: 'MANAGE', label: 'Change queues, jobs and dead letters', hint: '' },
  { name: 'ADMIN', label: 'Everything, including keys and members', hint: '' },
] as const;
export type Scope = (typeof SCOPES)[number]['name'];

export const ENDS = [
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
] as const;
export type End = (typeof ENDS)[number][0];

export interface KeyDraft {
  name: string;
  scopes: readonly Scope[];
  /** Names of queues, with spaces or commas between them; empty for all. */
  queues: string;
  end: End;
}

export const NEW_KEY: KeyDraft = { name: '', scopes: ['PUBLISH'], queues: '', end: '365' };

export function withScope(draft: KeyDraft, scope: Scope, isOn: boolean): KeyDraft {
  const others = draft.scopes.filter((one) => one !== scope);
  if (!isOn) return { ...draft, scopes: others };
  return { ...draft, scopes: scope === 'ADMIN' ? ['ADMIN'] : [...others.filter((one) => one !== 'ADMIN'), scope] };
}

/** The reason why the server would refuse the key; null if it can be created. */
export function problemOf({ scopes, queues }: KeyDraft): string | null {
  if (scopes.length === 0) return 'Select at least 1 permission.';
  if (scopes.includes('ADMIN') && namesIn(queues).length > 0)
    return 'A key for everything cannot be limited to queues.';
  return null;
}

/** The variables of the mutation. */
export function inputOf({ name, scopes, queues, end }: KeyDraft, now: number) {
  const names = namesIn(queues);
  return {
    name: name.trim() === '' ? null : name.trim(),
    scopes: [...scopes],
    queues: names.length === 0 ? null : names,
    expiresAt: end === '' ? null : new Date(now + Number(end) * DAY_MS).toISOString(),
  };
}

export function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '');
}
