import { ClockWatch, checkClock, useClockWatch } from '../../db/connection/clock-watch.ts';
import type { Database } from '../../db/connection/database.ts';
import { futureJobs } from '../../db/operator/future-jobs.ts';
import { futureJobsInWords } from '../../domain/doctor-clock.ts';
import { repeat } from '../../pacing/repeat.ts';
import { ReleaseWatch } from '../../services/server/release-watch.ts';
import type { Logger } from '../../telemetry/log.ts';
import { encryptLater, encryptOthers } from '../open-database.ts';
import type { Foundations } from './foundations.ts';

/** How often the database's clock is checked for jumps. */
const CLOCK_CHECK_MS = 2000;
/** How often a process looks whether a later release has migrated the database; `/readyz` does it, too. */
const RELEASE_CHECK_MS = 5000;
/** How often a process whose first key does not encrypt yet looks whether every running process has it. */
const KEY_CHECK_MS = 5000;
/** How often a process with a key looks for secrets that one without it has stored. It reads all queues. */
const PLAIN_CHECK_MS = 60_000;

export function watchClock({ config, log, database: { db }, started }: Foundations): ClockWatch {
  const clock = new ClockWatch({
    maxJumpMs: config.maxClockJumpMs,
    log,
    onTrustedAgain: () => void warnOfFutureJobs(db, log),
  });
  useClockWatch(db, clock);
  const checks = repeat(CLOCK_CHECK_MS, log, "reading the database's clock", () => checkClock(db, clock));
  started.add(() => checks.stop());
  return clock;
}

/** While the clock was ahead, jobs were dated by it: they wait, as if their publishers had asked for it. */
async function warnOfFutureJobs(db: Database, log: Logger): Promise<void> {
  const future = await futureJobs(db).catch(() => ({ waiting: null, reports: null }));
  for (const what of futureJobsInWords(future)) log.warn({}, `${what}; \`doctor\` (clock) has the way out`);
}

export function watchRelease({ log, database: { db, runsBeside }, started }: Foundations): ReleaseWatch {
  const release = new ReleaseWatch({ db, log, startsBeside: runsBeside });
  const checks = repeat(RELEASE_CHECK_MS, log, 'comparing the release of the database', () => release.look());
  started.add(() => checks.stop());
  return release;
}

export function watchKeys({ config, log, database, started }: Foundations): void {
  const checks = repeat(KEY_CHECK_MS, log, 'encrypting with a new key', () => encryptLater(config, database, log));
  started.add(() => checks.stop());
  if (config.encryptionKeys.length === 0) return;
  const ofOthers = repeat(PLAIN_CHECK_MS, log, 'encrypting secrets', () => encryptOthers(database, log));
  started.add(() => ofOthers.stop());
}
