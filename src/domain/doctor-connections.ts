import { type Finding, orOk, problem, warning } from './doctor.ts';
import type { RunningProcess } from './release.ts';

/** The limits of the server that can refuse a connection. */
export interface ConnectionFacts {
  /**
   * The limit with the least room: the server's own, without what is reserved; or that of the role or of the database.
   */
  limit: 'server' | 'role' | 'database';
  /** Sessions that count for it, those of other programs included. */
  used: number;
  max: number;
  /** The lowest of all limits. */
  allowed: number;
}

/**
 * Most connections of a process to the server itself: pools, listener, lease lock, and two that end abandoned sessions.
 */
const MOST = { direct: { api: 23, worker: 24 }, pooled: { api: 1, worker: 8 } };
/** Share of a limit above which connections may soon be refused. */
const FULL = 0.8;

/** @returns how many connections the processes can need together */
function connectionsNeeded(processes: readonly Pick<RunningProcess, 'role'>[], isPooled: boolean): number {
  const { api, worker } = MOST[isPooled ? 'pooled' : 'direct'];
  return processes.reduce((sum, { role }) => sum + (role === 'api' ? api : worker), 0);
}

/** Why the server may refuse connections to these processes once they are busy; null if it has enough for them. */
export function connectionsMissing(
  { allowed }: Pick<ConnectionFacts, 'allowed'>,
  processes: readonly Pick<RunningProcess, 'role'>[],
  isPooled: boolean,
): { what: string; fix: string } | null {
  const needed = connectionsNeeded(processes, isPooled);
  if (needed <= allowed) return null;
  const many = processes.length === 1 ? '1 process needs' : `${processes.length} processes need`;
  const what = `${many} up to ${needed} connections when busy, and the server allows ${allowed}`;
  return {
    what,
    fix: 'raise max_connections (or the limit of the role or database), run fewer processes, or use a pooler',
  };
}

/** The reason of a refused connection, by its SQLSTATE (`too_many_connections`), which the handbook names, too. */
export const NO_CONNECTION_LEFT = 'no connection is left on the server (SQLSTATE 53300)';

const WHOSE_FIX =
  'find out which programs hold the connections: select usename, application_name, count(*) from pg_stat_activity group by 1, 2 order by 3 desc; ' +
  'end idle ones of other programs with pg_terminate_backend, or raise max_connections';

/** @param embedded whether the database is the one of DATA_DIR */
export function judgeUnreachable(reason: string, embedded: boolean): Finding {
  if (reason.startsWith(NO_CONNECTION_LEFT)) return problem('database', reason, `as a superuser, ${WHOSE_FIX}`);
  const fix = embedded
    ? 'read the log of the embedded PostgreSQL in DATA_DIR'
    : 'compare DATABASE_URL (host, port, user, password, database) with the server, and see whether it runs';
  return problem('database', `cannot be reached: ${reason}`, fix);
}

/** Findings of `doctor` about the sessions of the server. */
export function judgeConnections(
  facts: ConnectionFacts,
  processes: readonly Pick<RunningProcess, 'role'>[],
  isPooled: boolean,
): Finding[] {
  const { limit, used, max } = facts;
  const check = 'sessions';
  const text = `${used} of ${max} connections of the ${limit} are in use`;
  const found: Finding[] = [];
  if (used > FULL * max) found.push(warning(check, text, WHOSE_FIX));
  const missing = connectionsMissing(facts, processes, isPooled);
  if (missing !== null) found.push(warning(check, missing.what, missing.fix));
  return orOk(found, check, `${text}; all processes together need ${connectionsNeeded(processes, isPooled)} at most`);
}
