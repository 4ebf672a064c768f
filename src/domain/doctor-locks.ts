import { type Finding, orOk, problem, warning } from './doctor.ts';
import { durationText } from './duration.ts';

/** A transaction that has had locks on tables for a while. */
export interface LockHolder {
  /** Process id of its session; 0 for a prepared transaction, which has none. */
  pid: number;
  /** Id of a prepared transaction; null for one of a session. */
  prepared: string | null;
  user: string;
  program: string;
  /** Whether a statement of it runs; false for a session that is idle in its transaction. */
  isActive: boolean;
  /**
   * Whether it waits for a lock itself, as a change of the schema does behind a dump; all others then wait behind it.
   */
  isWaiting: boolean;
  /** Age of its transaction. */
  seconds: number;
  /** Sessions that wait for it. */
  waiting: number;
  tables: readonly string[];
}

/** A session that does nothing has most likely been forgotten. One that works ends by itself. */
export function judgeLocks(holders: readonly LockHolder[], blindRole: string | null = null): Finding[] {
  const check = 'locks';
  const found = holders.map((holder) => {
    const judge = holder.waiting > 0 || !holder.isActive ? problem : warning;
    return judge(check, lockedBy(holder), wayOutOf(holder));
  });
  if (blindRole !== null) {
    const { what, fix } = hiddenSessions(blindRole);
    found.push(warning(check, `${what}, so their locks are not known`, fix));
  }
  return orOk(found, check, 'no other session has had locks on the tables for 10 s');
}

/** "a transaction of ann (psql, pid 123), which is idle, has had locks on queue for 98 s; 3 sessions wait for it" */
function lockedBy(holder: LockHolder): string {
  const { pid, prepared, user, program, isActive, isWaiting, seconds, waiting, tables } = holder;
  const ofSession = `a transaction of ${user} (${program || 'no program name'}, pid ${pid})${isActive ? '' : ', which is idle,'}`;
  const what = prepared === null ? ofSession : `the prepared transaction ${prepared} of ${user}`;
  const others = waiting === 0 ? '' : `; ${waiting === 1 ? '1 session waits' : `${waiting} sessions wait`} for it`;
  const locks = isWaiting ? 'has waited for a lock, with others on' : 'has had locks on';
  return `${what} ${locks} ${tables.join(', ')} for ${durationText(seconds)}${others}`;
}

/** Holders in words, each with the statement that ends it; and, for a role that is blind, that there may be others. */
export function locksInWords(holders: readonly LockHolder[], blindRole: string | null): string[] {
  const named = holders.map((holder) => `${lockedBy(holder)}: ${wayOutOf(holder)}`);
  if (blindRole === null) return named;
  const { what, fix } = hiddenSessions(blindRole);
  return [...named, `${what}: ${fix}`];
}

/** @param role a database role without the rights of `pg_read_all_stats`, as an identifier of SQL */
export function hiddenSessions(role: string): { what: string; fix: string } {
  return {
    what: `the role ${role} cannot see the sessions of other roles`,
    fix: `as a superuser: grant pg_read_all_stats to ${role}`,
  };
}

/** The statement that ends it. */
export function wayOutOf({ pid, prepared, isActive, isWaiting }: LockHolder): string {
  if (prepared !== null) return endOfPrepared(prepared);
  if (isWaiting) return `end the transaction it waits for, or cancel its statement: select pg_cancel_backend(${pid})`;
  return `${isActive ? 'wait for its end, or' : 'end it in that program, or'}: select pg_terminate_backend(${pid})`;
}

/** The statements of which one ends a prepared transaction. */
export function endOfPrepared(id: string): string {
  const text = `'${id.replaceAll("'", "''")}'`;
  return `commit prepared ${text}, or: rollback prepared ${text}`;
}
