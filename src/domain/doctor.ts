import { durationText } from './duration.ts';
import { type ReplicationFacts, replicationFaults } from './replication.ts';
import { OLDEST_SERVER, type ServerSettings } from './server-settings.ts';

/** Findings of `doctor` about a database and the processes that use it. */

export interface Finding {
  check: string;
  status: 'ok' | 'warning' | 'problem';
  what: string;
  /** The remedy; null if nothing is wrong. */
  fix: string | null;
}

export interface SettingFacts extends ServerSettings {
  autovacuum: string;
  /** New sessions can only read; those of a standby always. */
  read_only: boolean;
  /** Time-outs of new sessions in milliseconds; only those that are set. */
  timeouts: Readonly<Partial<Record<'idle_session_timeout' | 'lock_timeout', number>>>;
}

export function judgeSettings(facts: SettingFacts): Finding[] {
  const { version, encoding, standby } = facts;
  const check = 'settings';
  const found: Finding[] = [];
  if (version < OLDEST_SERVER * 10_000) {
    const major = Math.floor(version / 10_000);
    found.push(problem(check, `PostgreSQL ${major} is too old`, `upgrade it to ${OLDEST_SERVER} or later`));
  }
  if (encoding !== 'UTF8') {
    found.push(
      problem(
        check,
        `the database has the encoding ${encoding}`,
        "create it with encoding 'UTF8', and restore into it",
      ),
    );
  }
  if (standby) {
    found.push(
      problem(check, 'the server is a standby, which cannot be written to', 'set DATABASE_URL to the primary'),
    );
  }
  if (facts.read_only && !standby) {
    const fix =
      'default_transaction_read_only must be off for the server, the database and the role: see what set it (a migration, a ' +
      'full disk), then alter system, alter database or alter role … reset default_transaction_read_only';
    found.push(problem(check, 'sessions are read-only: nothing can be published or delivered', fix));
  }
  for (const name of ['fsync', 'full_page_writes'] as const) {
    if (facts[name] === 'off') {
      found.push(
        problem(
          check,
          `${name} is off: a crash can lose accepted jobs`,
          `alter system set ${name} = on; select pg_reload_conf()`,
        ),
      );
    }
  }
  if (facts.synchronous_commit === 'off') {
    const fix = 'alter system set synchronous_commit = on; select pg_reload_conf()';
    found.push(problem(check, 'synchronous_commit is off: a crash can lose accepted jobs', fix));
  }
  if (facts.autovacuum === 'off') {
    found.push(
      problem(
        check,
        'autovacuum is off: tables grow without end',
        'alter system set autovacuum = on; select pg_reload_conf()',
      ),
    );
  }
  for (const [name, ms] of Object.entries(facts.timeouts)) {
    const effect =
      name === 'lock_timeout' ? 'ends statements that wait for each other' : 'ends connections that wait for work';
    found.push(warning(check, `${name} is ${ms} ms, which ${effect}`, `alter role … set ${name} = 0`));
  }
  return orOk(found, check, `PostgreSQL ${Math.floor(version / 10_000)}, durable`);
}

export function judgeStandbys(facts: ReplicationFacts): Finding[] {
  const check = 'standbys';
  const found = replicationFaults(facts).map(({ isUnsafe, what, fix }) =>
    (isUnsafe ? problem : warning)(check, what, fix),
  );
  const { standbys } = facts;
  return orOk(found, check, standbys === 0 ? 'there are none' : `${standbys}, and commits wait for a synchronous one`);
}

export interface IndexFacts {
  /** Names of indexes that migrations create and the database does not have. */
  missing: readonly string[];
  /** Names of indexes whose creation was interrupted. */
  invalid: readonly string[];
}

export function judgeIndexes({ missing, invalid }: IndexFacts): Finding[] {
  const check = 'indexes';
  return orOk(
    [
      ...missing.map((name) =>
        problem(check, `the index ${name} is missing`, 'create it as in prisma/migrations, with "concurrently"'),
      ),
      ...invalid.map((name) => problem(check, `the index ${name} is not valid`, `reindex index concurrently ${name}`)),
    ],
    check,
    'all exist and are valid',
  );
}

export interface TableFacts {
  table: string;
  live: number;
  dead: number;
  bytes: number;
  /** Whether autovacuum is off for it. */
  unattended: boolean;
}

export interface VacuumFacts {
  tables: readonly TableFacts[];
  /** Replication slots that no standby uses. */
  idleSlots: readonly string[];
  /** Age of the oldest transaction id of the database that is not frozen. */
  xidAge: number;
}

const MANY_DEAD = { rows: 50_000, share: 0.3 };
const OLD_XID = 1_000_000_000;

/** @returns what is wrong; empty if nothing is */
export function judgeVacuum({ tables, idleSlots, xidAge }: VacuumFacts): Finding[] {
  const check = 'bloat';
  const found: Finding[] = [];
  for (const { table, live, dead, unattended } of tables) {
    if (unattended) {
      const fix = `alter table ${table} reset (autovacuum_enabled)`;
      found.push(problem(check, `autovacuum is off for ${table}: it grows without end`, fix));
    }
    if (dead < MANY_DEAD.rows || dead < MANY_DEAD.share * (live + dead)) continue;
    const share = Math.round((100 * dead) / (live + dead));
    found.push(warning(check, `${share} % of the rows of ${table} are dead (${dead})`, `vacuum (analyze) ${table}`));
  }
  for (const slot of idleSlots) {
    const fix = `start its standby, or: select pg_drop_replication_slot('${slot}')`;
    found.push(problem(check, `no standby uses the replication slot ${slot}: WAL is kept until the disk is full`, fix));
  }
  if (xidAge > OLD_XID)
    found.push(
      problem(
        check,
        `${Math.round(xidAge / 2.1e7)} % of the transaction ids are used`,
        'vacuum (freeze), as the owner of the database',
      ),
    );
  return found;
}

export interface SequenceFacts {
  /** Last value of the sequence of claim tokens; null if it has none. */
  last: number | null;
  /** Highest claim token of a job in flight; null if there is none. */
  used: number | null;
}

export function judgeSequence({ last, used }: SequenceFacts): Finding[] {
  const check = 'sequence';
  if (used !== null && used > (last ?? 0)) {
    const what =
      'the sequence of claim tokens is behind the jobs, as after an incomplete restore: late results could be taken for new ones, and jobs in flight are not counted';
    return [problem(check, what, `select setval('jobferry_claim_token_seq', ${used + 1_000_000})`)];
  }
  return [ok(check, 'the sequence of claim tokens is ahead of all jobs')];
}

/** A clock that is further off than this is wrong. */
export const WRONG_CLOCK_SECONDS = 5;

/** @param offsetMs how far the database's clock is ahead of this machine's, in milliseconds */
export function judgeClock(offsetMs: number): Finding[] {
  const check = 'clock';
  const seconds = Math.abs(offsetMs) / 1000;
  const text = `the database's clock is ${seconds.toFixed(1)} s ${offsetMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  return seconds > WRONG_CLOCK_SECONDS
    ? [warning(check, text, 'synchronise both by NTP: the clock of the database decides when jobs are due')]
    : [ok(check, text)];
}

export interface LagFacts {
  searchSeconds: number | null;
  statisticsSeconds: number;
  wakeUpSeconds: number | null;
  /** Time since the last retention sweep ended; null if there was none. */
  sweepSeconds: number | null;
  /** The queue with the oldest due job, among those that are neither paused nor held; null if no job is due. */
  oldestDue: { queueId: string; name: string; seconds: number } | null;
}

const NO_WORKER_FIX = 'start a worker: none is running, see fleet';
const LATE = { search: 300, statistics: 300, wakeUp: 60, sweep: 1800, due: 60 };

/** @param workerRunning whether a worker runs; without one everything is late, and CPU is not the reason */
export function judgeLags(
  { searchSeconds, statisticsSeconds, wakeUpSeconds, sweepSeconds, oldestDue }: LagFacts,
  workerRunning: boolean,
): Finding[] {
  const check = 'lag';
  const found: Finding[] = [];
  const late = (what: string, seconds: number | null, limit: number, fix: string) => {
    if (seconds !== null && seconds > limit)
      found.push(warning(check, `${what} by ${durationText(seconds)}`, workerRunning ? fix : NO_WORKER_FIX));
  };
  const busy = 'give the workers or the database more CPU; the log of the workers names errors';
  late('the search index is late', searchSeconds, LATE.search, busy);
  late('statistics are late', statisticsSeconds, LATE.statistics, busy);
  late('wake-ups are late', wakeUpSeconds, LATE.wakeUp, 'start a worker, or read the log of the workers');
  late(
    'the retention sweep is late',
    sweepSeconds,
    LATE.sweep,
    'start a worker; the log of the workers says why a sweep stops',
  );
  if (oldestDue !== null && oldestDue.seconds > LATE.due) {
    const what = `a job of queue ${oldestDue.name} has been due for ${durationText(oldestDue.seconds)}`;
    found.push(
      warning(
        check,
        what,
        workerRunning
          ? `jobferry queue show ${oldestDue.queueId} says what its slots do, and who locks it`
          : NO_WORKER_FIX,
      ),
    );
  }
  return orOk(found, check, 'deliveries and background work are up to date');
}

export interface DiskFacts {
  databaseBytes: number;
  /** Whether the server could not write a temporary file of some MiB. */
  isFull: boolean;
  /** The disk of DATA_DIR; null if the database is elsewhere. */
  disk: { freeBytes: number; totalBytes: number } | null;
}

const GIB = 2 ** 30;

export function judgeDisk({ databaseBytes, isFull, disk }: DiskFacts): Finding[] {
  const check = 'disk';
  const size = `the database uses ${(databaseBytes / GIB).toFixed(2)} GiB`;
  if (isFull) {
    const fix =
      'free space there, in the order of "The disk fills up" in docs/troubleshooting.md; delete nothing in pg_wal';
    return [problem(check, `the disk of the database is full, so it takes no writes; ${size}`, fix)];
  }
  if (disk === null) return [ok(check, `${size}; how much space is free can be seen on its server only`)];
  const text = `${size}, and ${(disk.freeBytes / GIB).toFixed(1)} GiB are free`;
  if (disk.freeBytes > GIB && disk.freeBytes > disk.totalBytes / 20) return [ok(check, text)];
  return [problem(check, text, 'free space, move DATA_DIR to a larger disk, or shorten JOB_RETENTION_SECONDS')];
}

/**
 * A check that could not be made: a missing table or right is itself worth knowing.
 * @param hasProblem whether an earlier check found a problem
 */
export function couldNot(check: string, message: string, hasProblem: boolean): Finding {
  const fix = hasProblem
    ? 'fix the problems above first, and run doctor again'
    : 'run doctor again: after 10 s it names a session that locks the tables. If there is none, the database is overloaded, or ' +
      'the role may not read the tables';
  return problem(check, `could not be checked: ${message}`, fix);
}

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what, fix: null };
}

export function warning(check: string, what: string, fix: string): Finding {
  return { check, status: 'warning', what, fix };
}

export function problem(check: string, what: string, fix: string): Finding {
  return { check, status: 'problem', what, fix };
}

export function orOk(found: Finding[], check: string, what: string): Finding[] {
  return found.length > 0 ? found : [ok(check, what)];
}
