import type { Finding } from './doctor.ts';

type PoolMode = 'session' | 'transaction' | 'statement';

export interface PoolerFacts {
  /** Whether DIRECT_DATABASE_URL is set. */
  isPooled: boolean;
  /** Faults for which a start would be refused. */
  faults: readonly { what: string; fix: string }[];
  /** How sessions are shared; null without a pooler, or if it could not be found out. */
  mode: PoolMode | null;
}

const MODE_FIX = 'pool_mode = transaction, in pgbouncer.ini or for this database';

/** Findings of `doctor` about the connections to a pooler and past it. */
export function judgePooler({ isPooled, faults, mode }: PoolerFacts): Finding[] {
  const check = 'pooler';
  const found: Finding[] = faults.map(({ what, fix }) => ({ check, status: 'problem', what, fix }));
  if (mode === 'statement') {
    const what = 'the pooler is in statement mode, in which transactions are refused';
    found.push({ check, status: 'problem', what, fix: MODE_FIX });
  }
  if (mode === 'session') {
    const what = 'the pooler seems to be in session mode: each connection of a process keeps a session of the server';
    found.push({ check, status: 'warning', what, fix: MODE_FIX });
  }
  if (found.length > 0) return found;
  const what = isPooled ? 'in transaction mode; both URLs lead to the same server' : 'there is none';
  return [{ check, status: 'ok', what, fix: null }];
}
