import { assertReachable } from '../../db/connection/preflight.ts';
import { findAccount } from '../../db/operator/accounts.ts';
import { processFacts } from '../../db/operator/facts.ts';
import { assertOwnSchema, type SchemaReport, schemaReport } from '../../db/schema/migrate.ts';
import { assertNotMoved, markMoved } from '../../db/schema/moved.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { type BackupEnd, BackupError, type BackupHeader } from '../../domain/backup.ts';
import { processesInWords } from '../../domain/release.ts';
import { type OpenDatabase, openDatabase } from '../../process/open-database.ts';
import { VERSION } from '../../process/version.ts';
import { backUp } from '../../services/operator/backup.ts';
import { assertBackupFile } from '../../services/operator/backup-file.ts';
import { checkBackup, type RestoredAccount, restore } from '../../services/operator/restore.ts';
import type { Logger } from '../../telemetry/log.ts';
import { command, type Environment, type Result, UsageError } from './command.ts';
import { found, idOf, settingsHere, withDatabase } from './database.ts';
import { type Column, facts, table } from './output.ts';
import { isWorkerRunning } from './queue-of.ts';

const FILE = { name: 'FILE', what: 'the path of the backup' };
/** Rows of the list of restored accounts. */
const LISTED = 1000;

const backup = command({
  name: 'backup',
  summary: 'Write all accounts, or one, to a file, as they are at one moment. The service may run meanwhile.',
  options: {
    account: { value: 'ID', help: 'only this account' },
    final: { help: 'for a move: refused while the service runs, and afterwards `serve` refuses this database' },
  },
  argument: FILE,
  run: async ({ argument, options }, environment) => {
    const { config, log } = settingsHere(environment);
    const accountId = options.account === undefined ? null : idOf(options.account, 'account');
    if (options.final && accountId !== null) throw new UsageError('--final is for all accounts, so without --account');
    // A backup before an upgrade must not begin the upgrade.
    const database = await openDatabase(config, log, { guest: true, migrates: 'never', asItIs: true });
    try {
      const { db, url, name } = database;
      await assertReachable(db.pool, name);
      assertCurrent(await schemaReport(db.pool));
      if (accountId !== null) found(await findAccount(db, accountId), 'account', accountId);
      const make = () =>
        backUp(db, argument, {
          url,
          accountId,
          release: VERSION,
          retentionMs: config.jobRetentionMs,
          progress: progressIn(log, 'backing up'),
        });
      const done = options.final ? await asLast(database, make) : await make();
      return { json: { file: argument, ...jsonOf(done) }, text: facts([['file', argument], ...factsOf(done)]) };
    } finally {
      await database.close();
    }
  },
});

/**
 * Marks the database before the backup, so that no process starts meanwhile; a backup that fails takes the mark away.
 */
async function asLast<T>(database: OpenDatabase, make: () => Promise<T>): Promise<T> {
  const running = await processFacts(database.db);
  if (running.length > 0) {
    const what = `processes of ${processesInWords(running)} run`;
    throw new BackupError(
      `${what}: stop them first, or leave out --final (a process that was killed counts for 30 s more)`,
    );
  }
  // A second run that fails would take away the mark of the first one, and the database would be used again.
  await assertNotMoved(database.db);
  await markMoved(database, true);
  try {
    return await make();
  } catch (error) {
    await markMoved(database, false);
    throw error;
  }
}

function assertCurrent({ state, release }: SchemaReport): void {
  if (state === 'current') return;
  throw new BackupError(
    state === 'newer'
      ? `the database was migrated by a later release of Jobferry (${release?.version ?? 'it does not say which'}), and this is ${VERSION}: make the backup with that release`
      : 'the database has the schema of an earlier release, or none: make the backup with that release, or run `migrate` first',
  );
}

const restoring = command({
  name: 'restore',
  summary: 'Restore all accounts of a backup, or one. They are suspended until `account resume`. All or nothing.',
  options: {
    account: { value: 'ID', help: 'only this account' },
    operator: {
      help: 'make the operator’s account of the file the operator’s here; the present one becomes an ordinary account',
    },
    resume: { help: 'deliver at once: jobs that were delivered after the backup are delivered again' },
    unsigned: {
      help: 'accept a file without a signature of a key of ENCRYPTION_KEY, because no one else could write it',
    },
    check: {
      help: 'only check whether the file can be restored here; exit code 1 if it is damaged, 3 if it cannot be restored',
    },
  },
  argument: FILE,
  run: async ({ argument, options }, environment) => {
    const { config, log } = environment.settings();
    const accountId = options.account === undefined ? null : idOf(options.account, 'account');
    // Opening the database creates one where there is none.
    await assertBackupFile(argument);
    const steps = { verifying: progressIn(log, 'verifying the backup'), restoring: progressIn(log, 'restoring') };
    const progress = (step: keyof typeof steps, rows: number, of: number | null) => steps[step](rows, of);
    const { operator, resume, unsigned } = options;
    const here = { accountId, operator, unsigned, maxBodyBytes: config.maxBodyBytes, progress };
    if (options.check) return check(environment, argument, here);
    return withDatabase(
      environment,
      async ({ db, url }) => {
        const periods = { retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs };
        const done = await restore(db, argument, { ...here, url, actor: OPERATOR, periods, resume });
        const { accounts, rows } = done;
        const unknownPlans = [...new Set(accounts.map(({ plan }) => plan))].filter(
          (plan) => !Object.hasOwn(config.plans, plan),
        );
        const json = { file: argument, ...jsonOf({ ...done, end: { ...done.end, rows } }), unknownPlans };
        return {
          json: { ...json, accounts: accounts.slice(0, LISTED) },
          text: describe(done, { file: argument, resume, unknownPlans, workerRunning: await isWorkerRunning(db) }),
        };
      },
      { migrates: 'if empty' },
    );
  },
});

/** Changes nothing, so an empty database stays empty. */
async function check(
  { settings }: Environment,
  file: string,
  here: Omit<Parameters<typeof checkBackup>[2], 'isEmpty'>,
): Promise<Result> {
  const { config, log } = settings();
  const database = await openDatabase(config, log, { guest: true, migrates: 'never', asItIs: true });
  try {
    const { db, name } = database;
    await assertReachable(db.pool, name);
    const { isEmpty } = await schemaReport(db.pool);
    if (!isEmpty) await assertOwnSchema(db.pool);
    const checked = await checkBackup(db, file, { ...here, isEmpty });
    return {
      json: { file, refusal: checked.refusal, ...jsonOf(checked) },
      text: `${facts([['file', file], ...factsOf(checked)])}\n\n${verdicts(checked.refusal, isEmpty)}`,
      isFailure: checked.refusal !== null,
      exitCode: 3,
    };
  } finally {
    await database.close();
  }
}

function verdicts(refusal: string | null, isEmpty: boolean): string {
  const first = isEmpty ? ' The database has no tables of Jobferry yet: `restore` creates them.' : '';
  const here = refusal === null ? `It can be restored here.${first}` : `It cannot be restored here: ${refusal}`;
  return `The file is intact.\n${here}`;
}

/** Logs how far the work is, every five seconds. */
function progressIn(log: Logger, message: string): (rows: number, of?: number | null) => void {
  let loggedAt = performance.now();
  return (rows, of = null) => {
    if (performance.now() - loggedAt < PROGRESS_MS) return;
    loggedAt = performance.now();
    log.info(of === null ? { rows } : { rows, of }, message);
  };
}

const PROGRESS_MS = 5000;

interface Found {
  header: BackupHeader;
  end: BackupEnd;
}

function jsonOf({ header: { madeAt, release, account }, end: { rows, keys, signature } }: Found) {
  return { madeAt, release, account, rows, keys, signedBy: signature?.key ?? null };
}

function factsOf({ header, end }: Found): [string, string | number | Date][] {
  return [
    ['made', new Date(header.madeAt)],
    ['release', header.release],
    ['encryption keys', end.keys.length === 0 ? 'none' : end.keys.join(' ')],
    ['signed with the key', end.signature?.key ?? 'none'],
    ...Object.entries(end.rows),
  ];
}

const COLUMNS: readonly Column<RestoredAccount>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'DELIVERED AGAIN', of: ({ interrupted }) => interrupted, isNumber: true },
  { title: 'WAITING FOR A REPORT', of: ({ awaitingAck }) => awaitingAck, isNumber: true },
  { title: 'SUSPENDED BEFORE', of: ({ wasSuspended }) => wasSuspended },
];

interface Outcome {
  file: string;
  resume: boolean;
  unknownPlans: string[];
  workerRunning: boolean;
}

function describe(
  { header, end, rows, accounts }: Found & { rows: Record<string, number>; accounts: RestoredAccount[] },
  { file, resume, unknownPlans, workerRunning }: Outcome,
): string {
  const notes = [
    'Jobs that were delivered after the backup are delivered again; jobs that were published after it are not here.',
    resume
      ? `${workerRunning ? 'Deliveries have begun' : 'No worker is running: deliveries begin when one does'}, except in accounts that were suspended before.`
      : 'The accounts are suspended: nothing is published or delivered. Begin with: account resume ID',
    ...unknownPlans.map(
      (plan) => `PLANS does not name the plan ${plan}: the strictest limits apply until \`account set-plan\`.`,
    ),
  ];
  return [
    facts([['file', file], ...factsOf({ header, end: { ...end, rows } })]),
    table(COLUMNS, accounts.slice(0, LISTED), 'No accounts.'),
    notes.join('\n'),
  ].join('\n\n');
}

export const BACKUP_COMMANDS = [backup, restoring];
