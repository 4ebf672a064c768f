import { type Finding, ok, warning } from './doctor.ts';
import { endOfPrepared, hiddenSessions } from './doctor-locks.ts';
import { durationText } from './duration.ts';

/** A session or the like with an old transaction. Nothing can remove the dead rows that it keeps before it ends. */
export interface SnapshotHolder {
  kind: 'session' | 'prepared' | 'standby' | 'slot';
  /** Process id of a session or of the sender to a standby, id of a prepared transaction, or name of a slot. */
  name: string;
  user: string;
  program: string;
  /** State of a session, such as `idle in transaction`, after its kind if it is no client's; empty for the others. */
  state: string;
  /** Age of the transaction; null for a standby and a slot. */
  seconds: number | null;
  /** Number of transactions since the oldest row that it keeps; null for a session that keeps none. */
  ids: number | null;
}

interface SnapshotFacts {
  holders: readonly SnapshotHolder[];
  /** Dead and live rows of all tables. */
  dead: number;
  live: number;
  /** The database role if it cannot see sessions of other roles; null if it can. */
  blindRole: string | null;
}

/**
 * From these ages on a holder is reported, and is a warning. The alert JobferryTransactionOld has the same limit for
 * sessions that do nothing.
 */
export const OLD_SNAPSHOT = { reported: { seconds: 60, ids: 10_000 }, warned: { seconds: 300, ids: 100_000 } };

const CHECK = 'bloat';

/** Findings of `doctor` about what keeps dead rows. A young holder is reported without a warning. */
export function judgeSnapshots({ holders, dead, live, blindRole }: SnapshotFacts): Finding[] {
  const rows = `${dead} dead rows beside ${live} live ones`;
  const found = holders.map((holder) => {
    const text = heldBy(holder, rows);
    const { seconds, ids } = OLD_SNAPSHOT.warned;
    const isOld = holder.seconds === null ? (holder.ids ?? 0) >= ids : holder.seconds >= seconds;
    return isOld ? warning(CHECK, text, endOf(holder)) : { ...ok(CHECK, text), fix: endOf(holder) };
  });
  if (blindRole !== null) {
    const { what, fix } = hiddenSessions(blindRole);
    found.push(warning(CHECK, `${what}, so old transactions are not known`, fix));
  }
  return found.length > 0
    ? found
    : [ok(CHECK, `${rows}, and no transaction is older than ${OLD_SNAPSHOT.reported.seconds} s`)];
}

/**
 * "a session of ann (psql, pid 123, idle in transaction) has had a transaction open for 98 s and keeps its locks, but
 * no dead row at this moment"
 * @param rows the numbers of dead and live rows, where they are known
 */
export function heldBy(holder: SnapshotHolder, rows?: string): string {
  const { kind, name, user, program, state, seconds, ids } = holder;
  const counted = rows === undefined ? '' : ` (${rows})`;
  const age = durationText(seconds ?? 0);
  const since = `so vacuum keeps the rows that died since${counted}`;
  const by = program || 'no program name';
  switch (kind) {
    case 'session':
      return `a session of ${user} (${by}, pid ${name}, ${state}) has had a transaction open for ${age} and keeps ${keptBySession(ids)}${ids === null ? '' : counted}`;
    case 'prepared':
      return `the prepared transaction ${name} of ${user} has waited for ${age}, ${since}`;
    case 'standby':
      return `the standby ${by} (${user}, pid ${name}) needs rows from before the last ${ids} transactions, ${since}`;
    case 'slot':
      return `the replication slot ${name} keeps rows from before the last ${ids} transactions, ${since}`;
  }
}

/** A session that is read-committed and between two statements may have neither a snapshot nor written anything. */
function keptBySession(ids: number | null): string {
  if (ids === null) return 'its locks, but no dead row at this moment';
  return `the rows that died in the last ${ids === 1 ? 'transaction' : `${ids} transactions`}`;
}

function endOf({ kind, name }: SnapshotHolder): string {
  switch (kind) {
    case 'session':
      return `end it in that program, or: select pg_terminate_backend(${name})`;
    case 'prepared':
      return endOfPrepared(name);
    case 'standby':
      return 'end the long query on the standby, or turn off hot_standby_feedback there';
    case 'slot':
      return `start its standby, or: select pg_drop_replication_slot('${name}')`;
  }
}
