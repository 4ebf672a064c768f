import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import { isWritable } from '../../db/connection/server.ts';
import { schemaState } from '../../db/schema/migrate.ts';

/** Who asks more often gets the same answer: nobody needs a key to ask. */
const REMEMBERED_MS = 1000;
/** A probe has its answer within a second, whatever the database does. */
const ANSWER_MS = 800;

interface Readiness {
  ready: boolean;
  /** What was looked at, and what was found: `ok`, or what is wrong in words. */
  checks: Record<string, string>;
}

interface ReadinessOptions {
  db: Database;
  log: DatabaseLog & { info(fields: object, message: string): void };
  /** Why the worker of this process does not deliver as it should; null when all is well, undefined without a worker. */
  workerProblem(): string | null | undefined;
}

/** Ready means: a job published now would be kept, and delivered if this process delivers. */
export function createReadiness({ db, log, workerProblem }: ReadinessOptions): () => Promise<Readiness> {
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<Readiness>;
  let wasReady = true;
  /** One question at a time: a database that hangs is not asked again. */
  let question: Promise<Record<string, string>> | null = null;

  async function look(): Promise<Readiness> {
    question ??= askDatabase(db).finally(() => {
      question = null;
    });
    const nothing = sleep(ANSWER_MS, { database: `no answer within ${ANSWER_MS} ms` }, { ref: false });
    const checks: Record<string, string> = { ...(await Promise.race([question, nothing])) };
    const problem = workerProblem();
    if (problem !== undefined) checks.worker = problem ?? 'ok';
    const ready = Object.values(checks).every((check) => check === 'ok');
    if (ready !== wasReady) {
      wasReady = ready;
      if (ready) log.info({ checks }, 'ready again');
      else log.warn({ checks }, 'not ready');
    }
    return { ready, checks };
  }

  return () => {
    if (performance.now() - askedAt >= REMEMBERED_MS) {
      askedAt = performance.now();
      answer = look();
    }
    return answer;
  };
}

async function askDatabase(db: Database): Promise<Record<string, string>> {
  try {
    const [writable, state] = await Promise.all([isWritable(db), schemaState(db.pool)]);
    // A later version may have migrated already while this one is being replaced.
    return { database: writable ? 'ok' : 'read-only', schema: state === 'behind' ? 'not migrated' : 'ok' };
  } catch {
    return { database: db.origin.refusal ?? 'not reachable' };
  }
}
