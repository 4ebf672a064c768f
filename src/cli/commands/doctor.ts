import { statfs } from 'node:fs/promises';
import { databaseTime } from '../../db/connection/clock.ts';
import type { Database } from '../../db/connection/database.ts';
import { poolingFaults, poolModeOf } from '../../db/connection/pooler.ts';
import { unreachableReason } from '../../db/connection/preflight.ts';
import { connectionFacts } from '../../db/insight/server-connections.ts';
import {
  databaseBytes,
  indexFacts,
  isDiskFull,
  lagFacts,
  processFacts,
  sequenceFacts,
  settingFacts,
  standbyFacts,
  vacuumFacts,
} from '../../db/operator/facts.ts';
import { futureJobs } from '../../db/operator/future-jobs.ts';
import { lockHolders } from '../../db/operator/locks.ts';
import { blindRole, snapshotHolders } from '../../db/operator/snapshots.ts';
import { neededKeys } from '../../db/queues/needed-keys.ts';
import { type SchemaState, schemaReport } from '../../db/schema/migrate.ts';
import { movedAt, STAY_MOVED } from '../../db/schema/moved.ts';
import { OWN_RELEASE } from '../../db/schema/release.ts';
import { UnusableSchema } from '../../db/schema/sql-functions.ts';
import {
  couldNot,
  type DiskFacts,
  type Finding,
  judgeClock,
  judgeDisk,
  judgeIndexes,
  judgeLags,
  judgeSequence,
  judgeSettings,
  judgeStandbys,
  judgeVacuum,
} from '../../domain/doctor.ts';
import { judgeFutureJobs } from '../../domain/doctor-clock.ts';
import { judgeConnections, judgeUnreachable } from '../../domain/doctor-connections.ts';
import { judgeSettingsApart } from '../../domain/doctor-fleet.ts';
import { judgeLocks } from '../../domain/doctor-locks.ts';
import { judgePooler, type PoolerFacts } from '../../domain/doctor-pooler.ts';
import { hasWorker, judgeFleet, judgeMoved, judgeSchema, judgeUnusable } from '../../domain/doctor-releases.ts';
import { judgeSnapshots, OLD_SNAPSHOT } from '../../domain/doctor-snapshots.ts';
import type { Config } from '../../process/config.ts';
import { openDatabase } from '../../process/open-database.ts';
import { BUILD } from '../../process/version.ts';
import { command } from './command.ts';
import { settingsHere } from './database.ts';
import { printable } from './output.ts';

const doctor = command({
  name: 'doctor',
  summary: 'Check the database and the processes that use it, with the fix of each problem. Changes nothing.',
  options: {},
  run: async (_given, environment) => {
    const { config, log } = settingsHere(environment);
    const database = await openDatabase(config, log, { guest: true, migrates: 'never', asItIs: true });
    try {
      const findings = await examine(database.db, config);
      const isFailure = findings.some(({ status }) => status === 'problem');
      return { json: { ok: !isFailure, findings }, text: findings.map(line).join('\n'), isFailure };
    } finally {
      await database.close();
    }
  },
});

async function examine(db: Database, config: Config): Promise<Finding[]> {
  // Otherwise each check would report the same failure, as in a database whose tables are not there.
  const reason = await unreachableReason(db.pool);
  if (reason !== null) return [judgeUnreachable(reason, config.databaseUrl === undefined)];
  const schema = await examineSchema(db);
  const checks: [name: string, check: () => Promise<Finding[]>][] = [
    ['settings', async () => judgeSettings(await settingFacts(db))],
    ['sessions', async () => judgeConnections(await connectionFacts(db), await processesOf(db), db.isPooled)],
    ['standbys', async () => judgeStandbys(await standbyFacts(db))],
    ['pooler', async () => judgePooler(await poolerFacts(db))],
    ['schema', async () => schema.findings],
    // Those of migrations that are missing are missing, too.
    ['indexes', async () => (schema.state === 'behind' ? [] : judgeIndexes(await indexFacts(db)))],
    ['locks', async () => judgeLocks(await lockHolders(db), await blindRole(db))],
    ['bloat', () => examineBloat(db)],
    ['sequence', async () => judgeSequence(await sequenceFacts(db))],
    ['clock', async () => [...judgeClock(await clockOffset(db)), ...judgeFutureJobs(await futureJobs(db))]],
    ['lag', async () => judgeLags(await lagFacts(db, config.jobRetentionMs), hasWorker(await processFacts(db)))],
    ['disk', async () => judgeDisk(await diskFacts(db, config))],
    ['fleet', () => examineFleet(db, config)],
  ];
  const findings: Finding[] = [];
  for (const [name, check] of checks) {
    if (LEFT_OUT[schema.state]?.has(name)) continue;
    // A database of another version may lack a table; the other checks still help.
    const hasProblem = findings.some(({ status }) => status === 'problem');
    const found = check().catch((error: unknown) => [
      couldNot(name, error instanceof Error ? error.message : String(error), hasProblem),
    ]);
    findings.push(...(await found));
  }
  return findings;
}

async function examineBloat(db: Database): Promise<Finding[]> {
  const facts = await vacuumFacts(db);
  const sum = (read: (table: { live: number; dead: number }) => number) =>
    facts.tables.reduce((total, table) => total + read(table), 0);
  const snapshots = judgeSnapshots({
    holders: await snapshotHolders(db, OLD_SNAPSHOT.reported),
    dead: sum(({ dead }) => dead),
    live: sum(({ live }) => live),
    blindRole: await blindRole(db),
  });
  const found = judgeVacuum(facts);
  return found.length === 0 ? snapshots : [...found, ...snapshots.filter(({ fix }) => fix !== null)];
}

async function examineFleet(db: Database, config: Config): Promise<Finding[]> {
  const processes = await processFacts(db);
  const periods = { retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs };
  const needed = (await neededKeys(db, periods)).flatMap(({ keyId }) => keyId ?? []);
  const found = judgeFleet(processes, OWN_RELEASE, (await schemaReport(db.pool)).release);
  const apart = judgeSettingsApart(processes, needed);
  return apart.length === 0 ? found : [...found.filter(({ status }) => status !== 'ok'), ...apart];
}

/** Processes that use the database; none if it has no tables. */
function processesOf(db: Database) {
  return processFacts(db).catch(() => []);
}

/**
 * `unusable`: there are no tables, or none that a release can use.
 * `moved`: `backup --final` has moved the database away.
 */
type FoundState = SchemaState | 'unusable' | 'moved';

/** Checks that say nothing, or too much, about a database in such a state. */
const LEFT_OUT: Partial<Record<FoundState, ReadonlySet<string>>> = {
  unusable: new Set(['indexes', 'bloat', 'sequence', 'clock', 'lag', 'fleet']),
  moved: new Set(['lag', 'fleet']),
};

async function examineSchema(db: Database): Promise<{ state: FoundState; findings: Finding[] }> {
  try {
    const report = await schemaReport(db.pool);
    const moved = report.state === 'current' && !report.isEmpty ? await movedAt(db) : null;
    if (moved !== null) return { state: 'moved', findings: judgeMoved(moved, STAY_MOVED) };
    return { state: report.isEmpty ? 'unusable' : report.state, findings: judgeSchema(report, OWN_RELEASE, BUILD) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (error instanceof UnusableSchema) return { state: 'unusable', findings: judgeUnusable(reason) };
    return { state: 'current', findings: [couldNot('schema', reason, false)] };
  }
}

async function poolerFacts(db: Database): Promise<PoolerFacts> {
  const faults = await poolingFaults(db);
  return { isPooled: db.isPooled, faults, mode: db.isPooled ? await poolModeOf(db).catch(() => null) : null };
}

/**
 * Returns how far the database's clock is ahead, in milliseconds. The query may have taken long, so its middle counts.
 */
async function clockOffset(db: Database): Promise<number> {
  const before = Date.now();
  const there = await databaseTime(db);
  return there - (before + Date.now()) / 2;
}

async function diskFacts(db: Database, config: Config): Promise<DiskFacts> {
  return { databaseBytes: await databaseBytes(db), isFull: await isDiskFull(db), disk: await diskOf(config) };
}

async function diskOf({ databaseUrl, dataDir }: Config): Promise<DiskFacts['disk']> {
  if (databaseUrl !== undefined) return null;
  const { bavail, blocks, bsize } = await statfs(dataDir);
  return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
}

function line({ check, status, what, fix }: Finding): string {
  const text = `${status.padEnd(7)}  ${check.padEnd(8)}  ${printable(what)}`;
  return fix === null ? text : `${text}\n${' '.repeat(19)}→ ${printable(fix)}`;
}

export const DOCTOR_COMMANDS = [doctor];
