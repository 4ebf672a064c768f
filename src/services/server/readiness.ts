import { setTimeout as sleep } from 'node:timers/promises';
import { type Database, type DatabaseLog, isNoConnectionLeft } from '../../db/connection/database.ts';
import { isWritable } from '../../db/connection/server.ts';
import { NO_CONNECTION_LEFT } from '../../domain/doctor-connections.ts';
import type { ReleaseWatch } from './release-watch.ts';

/** Lifetime of a cached answer in milliseconds. `/readyz` needs no API key, so any client may request it very often. */
const CACHE_MS = 1000;
/** Time after which the database counts as not answering, so that a health check gets its answer within a second. */
const ANSWER_MS = 800;

/** Does not make a process unready. */
const DISK_FULL = 'refused: the disk of the database is full';

/** Checks that do not make a process unready. */
const REPORTED: ReadonlySet<string> = new Set(['connections', 'egress', 'keys']);

interface Readiness {
  ready: boolean;
  /** The result of each check by its name: `ok`, or a description of the problem. */
  checks: Record<string, string>;
}

interface ReadinessOptions {
  db: Database;
  log: DatabaseLog & { info(fields: object, message: string): void };
  release: Pick<ReleaseWatch, 'check' | 'refusal'>;
  /** Why the worker of this process cannot deliver; null when it can, undefined without a worker. */
  workerProblem(): string | null | undefined;
  /** The key of ENCRYPTION_KEY that the worker of this process lacks; null without one. */
  keyProblem(): { text: string; isElsewhere: boolean } | null;
  /**
   * The problem that keeps the worker of this process from all receivers; null without one, undefined without a worker.
   */
  egressProblem(): string | null | undefined;
  /** Why this process refuses all publishes for good; null while it takes them, undefined without the API. */
  publishProblem(): string | null | undefined;
}

/**
 * Ready means that a job published now would be stored, and delivered if this process has a worker. A full disk of the
 * database is the exception: it is said, and the process stays ready. The other processes have the same database, so a
 * load balancer that takes this one out gains nothing, and loses the reads and the answers that name the cause. And it
 * is known from refused writes only, so a process without requests would forget it, come back, and be taken out again.
 * What its worker cannot do meanwhile has the same cause. Connections that are in use without a statement are reported,
 * and closed soon. A way to the receivers that is cut off is reported, too: publishes are stored, and another process
 * has most likely the same way. A key of ENCRYPTION_KEY that no running process has is reported; one that another
 * process has makes the worker of this one unfit.
 */
export function createReadiness({
  db,
  log,
  release,
  workerProblem,
  keyProblem,
  egressProblem,
  publishProblem,
}: ReadinessOptions): () => Promise<Readiness> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<Readiness>;
  let wasReady = true;
  /** One query at a time: a database that hangs gets no further ones. */
  let running: Promise<Record<string, string>> | null = null;

  async function check(): Promise<Readiness> {
    running ??= checkDatabase(db, release).finally(() => {
      running = null;
    });
    const noAnswer = sleep(ANSWER_MS, null, { ref: false });
    const found = await Promise.race([running, noAnswer]);
    // A search for the primary ends before statements that were sent to a server which hangs.
    const checks: Record<string, string> = {
      ...(found ?? { database: db.refusal ?? `no answer within ${ANSWER_MS} ms` }),
    };
    const problem = workerProblem();
    if (problem !== undefined) checks.worker = problem ?? 'ok';
    const key = keyProblem();
    if (key?.isElsewhere === false) checks.keys = key.text;
    const publishes = publishProblem();
    if (publishes !== undefined) checks.publishes = publishes ?? 'ok';
    const egress = egressProblem();
    if (egress !== undefined) checks.egress = egress ?? 'ok';
    const unused = db.poolUse().reduce((sum, pool) => sum + pool.unused, 0);
    if (unused > 0) checks.connections = `${unused} in use without a statement`;
    const { isFull } = db.fullDisk;
    const counting = Object.entries(checks).filter(([name]) => !REPORTED.has(name) && !(isFull && name === 'worker'));
    const ready = counting.every(([, result]) => result === 'ok');
    if (ready !== wasReady) {
      wasReady = ready;
      if (ready) log.info({ checks }, 'ready again');
      else log.warn({ checks }, 'not ready');
    }
    return { ready, checks: isFull ? { ...checks, writes: DISK_FULL } : checks };
  }

  return () => {
    if (performance.now() - checkedAt >= CACHE_MS) {
      checkedAt = performance.now();
      answer = check();
    }
    return answer;
  };
}

async function checkDatabase(db: Database, release: ReadinessOptions['release']): Promise<Record<string, string>> {
  try {
    const [writable, { state }] = await Promise.all([isWritable(db), release.check()]);
    // The next release may already have migrated the database while it replaces this one.
    const schema = release.refusal ?? (state === 'behind' ? 'not migrated' : 'ok');
    return { database: writable ? 'ok' : 'read-only', schema };
  } catch (error) {
    const reason = isNoConnectionLeft(error) ? NO_CONNECTION_LEFT : 'not reachable';
    return { database: db.refusal ?? reason };
  }
}
