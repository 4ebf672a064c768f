import type { Database } from '../../db/connection/database.ts';
import { assertReachable } from '../../db/connection/preflight.ts';
import { processFacts } from '../../db/operator/facts.ts';
import { grantTo } from '../../db/schema/grants.ts';
import { type MigrationStatus, type SchemaStatus, schemaStatus } from '../../db/schema/status.ts';
import { isNews, olderThan, oldestBeside, processesInWords, type RunningProcess } from '../../domain/release.ts';
import { openDatabase } from '../../process/open-database.ts';
import { VERSION } from '../../process/version.ts';
import { CommandError, command, type Environment, type Result } from './command.ts';
import { withDatabase } from './database.ts';
import { facts, printable, table } from './output.ts';

export const migrate = command({
  name: 'migrate',
  summary: "Update the database to this version's schema.",
  options: {
    'grant-to': {
      value: 'ROLE',
      help: 'then grant this database role what a process with AUTO_MIGRATE=0 needs; to be repeated after each upgrade',
    },
    status: { help: 'change nothing: show what is applied, pending and failed; ends with 1 unless all is applied' },
  },
  run: ({ options }, environment) =>
    options.status
      ? status(environment)
      : withDatabase(environment, ({ db, applied }) => granted(db, applied, options['grant-to']), {
          migrates: 'always',
        }),
});

async function granted(db: Database, applied: readonly string[], role: string | undefined): Promise<Result> {
  if (role !== undefined && !(await grantTo(db.sessionPool, role)))
    throw new CommandError(`the database role ${printable(role)} does not exist: create it first`);
  const text = applied.length === 0 ? 'The database is up to date.' : `Applied:\n${applied.join('\n')}`;
  return role === undefined
    ? { json: { applied }, text }
    : {
        json: { applied, grantedTo: role },
        text: `${text}\nGranted to ${printable(role)}: reading and changing rows.`,
      };
}

async function status({ settings }: Environment): Promise<Result> {
  const { config, log } = settings();
  const database = await openDatabase(config, log, { guest: true, migrates: 'never', asItIs: true });
  try {
    await assertReachable(database.db.pool, database.name);
    const found = await schemaStatus(database.db.sessionPool);
    // A database without a schema has no heartbeats.
    return statusResult(found, found.database.migration === null ? [] : await processFacts(database.db));
  } finally {
    await database.close();
  }
}

function statusResult(found: SchemaStatus, processes: readonly RunningProcess[]): Result {
  const { migrations, database, program } = found;
  const state = stateOf(found);
  const oldest = oldestBeside(program.release, database.release);
  const older = olderThan(processes, oldest);
  const part = ({ migration, functions }: SchemaStatus['database']) =>
    migration === null ? 'no schema' : `${migration}, functions ${functions?.version ?? 'none'}`;
  const failures = migrations.filter(({ reason }) => reason !== null);
  const text = [
    facts([
      ['database', part(database)],
      ['program', `${part(program)} (jobferry ${VERSION})`],
      ['state', WORDS[state]],
      ['release', releaseWords(found)],
      ['older', processWords(older, found)],
    ]),
    '',
    table<MigrationStatus>(
      [
        { title: 'MIGRATION', of: ({ name }) => name },
        { title: 'STATE', of: (one) => one.state },
        { title: 'AT', of: ({ at }) => at },
      ],
      migrations,
      'There are no migrations.',
    ),
    ...failures.map(({ name, reason }) => `\n${name}: ${printable(reason ?? '')}`),
  ].join('\n');
  return {
    json: {
      state,
      version: VERSION,
      database,
      program,
      migrations,
      olderProcesses: older.map(({ role, version }) => ({ role, version })),
    },
    text,
    isFailure: state !== 'current',
  };
}

const WORDS = {
  current: 'current: nothing to apply',
  pending: 'pending: `migrate`, or a start of `serve`, applies what is missing',
  failed: 'failed: fix the cause, then run `migrate` again',
  newer: 'newer: a later version of Jobferry has migrated this database',
};

function releaseWords({ database: { migration, release } }: SchemaStatus): string {
  if (migration === null) return 'none';
  if (release === null) return 'unknown: the database has no record of the release that migrated it';
  return `the database is of ${release.version}; the oldest release that may run beside it is ${release.oldestBeside}`;
}

function processWords(older: readonly RunningProcess[], { program }: SchemaStatus): string {
  if (older.length === 0) return 'no running process is too old';
  return `${processesInWords(older)}: too old to run beside ${program.release.version}, upgrade or stop them`;
}

/**
 * A hash that differs at the same version is that of a build that is being worked on,
 * and a start replaces its functions.
 */
function stateOf({ migrations, database, program }: SchemaStatus): keyof typeof WORDS {
  const has = (state: MigrationStatus['state']) => migrations.some((one) => one.state === state);
  const [stored, own] = [database.functions, program.functions];
  if (has('later') || (stored !== null && stored.version > own.version)) return 'newer';
  if (has('failed')) return 'failed';
  if (has('pending') || stored?.version !== own.version || stored.hash !== own.hash) return 'pending';
  return isNews(program.release, database.release) ? 'pending' : 'current';
}
