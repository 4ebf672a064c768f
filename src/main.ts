#!/usr/bin/env node
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Config, parseConfig, type Role } from './config.ts';
import { createAccount, createApiKey, revokeApiKey } from './db/accounts.ts';
import { createPrisma } from './db/connection/prisma.ts';
import { OPERATOR } from './domain/audit.ts';
import { createLog, type Logger } from './log.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import { describeApiKey, generateApiKey } from './services/accounts/api-key.ts';
import type { Service } from './start.ts';
import { doubtsAbout, withSecretFiles } from './variables.ts';

const USAGE = `jobferry <command>

  serve [--role all|api|worker]      start the service (API and worker in one process by default)
  migrate                            bring the database to this version's schema
  account create --name N --plan P   make an account
  key create --account ID            make an API key; it is shown once
  key revoke ID                      make an API key useless, within a second everywhere
  demo                               watch it work: a receiver that misbehaves, and real payloads

Everything else is set by environment variables, see README.md.`;

/** What the operator did wrong, as opposed to what went wrong. */
class UsageError extends Error {
  override readonly name = 'UsageError';
}

type Command = (args: string[], config: Config, log: Logger) => Promise<void>;

const COMMANDS: Record<string, Command> = {
  serve,
  migrate: async (args, config, log) => {
    parse(args, {});
    await admin(config, log, async ({ applied }) => ({ applied }));
  },
  'account create': accountCreate,
  'key create': keyCreate,
  'key revoke': keyRevoke,
  demo: async (args, config) => {
    parse(args, {});
    // Loaded when they are asked for: the other commands need neither HTTP nor GraphQL.
    const [{ runDemo }, { startService }] = await Promise.all([import('./demo/index.ts'), import('./start.ts')]);
    const quiet = createLog({ level: 'error' });
    process.exitCode = (await runDemo(config, (settings) => startService(settings, quiet))) ? 0 : 1;
  },
};

async function serve(args: string[], config: Config, log: Logger): Promise<void> {
  const { values } = parse(args, { role: { type: 'string', default: config.role } });
  if (!['all', 'api', 'worker'].includes(values.role)) throw new UsageError('--role must be all, api or worker');
  const { startService } = await import('./start.ts');
  const starting = startService({ ...config, role: values.role as Role }, log, {
    onNewApiKey: (key, url) => showKey(key, url, config),
  });
  stopOnSignal(starting, log);
  // People read stdout; the log is on stderr.
  console.log(`Jobferry is listening on ${(await starting).url}`);
}

function showKey(key: string, url: string, config: Config): void {
  const where = config.databaseUrl === undefined ? `, and kept in ${config.dataDir}/api-key` : '';
  console.log(`
Your API key (shown once${where}):

  ${key}

Try it:

  curl -s ${url}/v1/queues -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"name":"hello","webhookUrl":"http://127.0.0.1:9000/"}'
  curl -s ${url}/v1/queues/hello/jobs -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"payload":{"hello":"world"}}'
`);
}

/** A start that is told to stop may finish first, so that no database of ours is left running: for so long. */
const START_GRACE_MS = 10_000;

function stopOnSignal(starting: Promise<Service>, log: Logger): void {
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping: finishing what is under way');
    let started = false;
    setTimeout(() => {
      if (started) return;
      log.warn('stopping in the middle of the start');
      process.exit(1);
    }, START_GRACE_MS).unref();
    starting
      .then((service) => {
        started = true;
        return service.stop();
      })
      .then(
        () => process.exit(0),
        (error: unknown) => {
          log.error({ err: error }, 'stopping failed');
          process.exit(1);
        },
      );
  };
  // A terminal that is closed says SIGHUP.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
  if (process.env.npm_lifecycle_event === 'start') stopWithParent(stop);
}

/** npm hands a SIGTERM to the shell between it and us, which dies of it without passing it on. */
function stopWithParent(stop: (reason: string) => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop('npm is gone');
  }, 250).unref();
}

async function accountCreate(args: string[], config: Config, log: Logger): Promise<void> {
  const { values } = parse(args, { name: { type: 'string' }, plan: { type: 'string' } });
  const name = required(values.name, '--name');
  const plan = required(values.plan, '--plan');
  const plans = Object.keys(config.plans);
  if (!plans.includes(plan)) throw new UsageError(`--plan must be one of ${plans.join(', ')}`);
  await admin(config, log, ({ db }) => createAccount(createPrisma(db), { name, plan }, OPERATOR));
}

async function keyCreate(args: string[], config: Config, log: Logger): Promise<void> {
  const { values } = parse(args, { account: { type: 'string' } });
  const accountId = required(values.account, '--account');
  const key = generateApiKey();
  await admin(config, log, async ({ db }) => {
    const by = { accountId, actor: OPERATOR };
    // The limit of keys is for those who ask over the network.
    const { id } = await createApiKey(createPrisma(db), by, { name: null, ...describeApiKey(key) }, () => undefined);
    return { id, accountId, key };
  });
}

async function keyRevoke(args: string[], config: Config, log: Logger): Promise<void> {
  const { positionals } = parse(args, {}, 1);
  const id = required(positionals[0], 'the id of the key');
  await admin(config, log, async ({ db }) => {
    if (!(await revokeApiKey(db, OPERATOR, null, id))) throw new UsageError(`no key ${id} that could be revoked`);
    return { id, revoked: true };
  });
}

/** Runs an admin command against the database and prints its result as one JSON object. */
async function admin(config: Config, log: Logger, work: (database: OpenDatabase) => Promise<object>): Promise<void> {
  const database = await openDatabase(config, log, { guest: true });
  try {
    console.log(JSON.stringify(await work(database)));
  } finally {
    await database.close();
  }
}

/** @throws UsageError for what the command does not know: one that was misspelt must not be ignored */
function parse<T extends Options>(args: string[], options: T, maxPositionals = 0) {
  const parsed = parsedOrRefused(args, options);
  const excess = parsed.positionals[maxPositionals];
  if (excess !== undefined) throw new UsageError(`unexpected argument "${excess}"`);
  return parsed;
}

type Options = NonNullable<ParseArgsConfig['options']>;

function parsedOrRefused<T extends Options>(args: string[], options: T) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(complaintOf(args, options) ?? (error instanceof Error ? error.message : String(error)));
  }
}

/** What is wrong with the arguments; null for what only Node knows. Its own message speaks of positional arguments. */
function complaintOf(args: string[], options: Options): string | null {
  const known = Object.keys(options).map((name) => `--${name}`);
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    if (!known.includes(token.rawName)) {
      const takes = known.length === 0 ? 'the command takes no options' : `the command takes ${known.join(' and ')}`;
      return `unknown option ${token.rawName}: ${takes}`;
    }
    const { value = '-', inlineValue } = token;
    if (value.startsWith('-') && inlineValue !== true) {
      return `${token.rawName} needs a value; one that begins with "-" is given as ${token.rawName}=-…`;
    }
  }
  return null;
}

function required(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new UsageError(`${what} is missing`);
  return value;
}

async function main(argv: string[]): Promise<void> {
  if (argv.length === 0 || argv.includes('--help') || argv[0] === 'help') {
    console.log(USAGE);
    return;
  }
  const words = [argv.slice(0, 2).join(' '), argv[0] ?? ''];
  const name = words.find((word) => COMMANDS[word] !== undefined);
  const command = name === undefined ? undefined : COMMANDS[name];
  if (name === undefined || command === undefined)
    throw new UsageError(`unknown command "${argv.join(' ')}"\n\n${USAGE}`);
  const config = parseConfig(withSecretFiles(process.env));
  const log = createLog({ level: config.logLevel });
  for (const doubt of doubtsAbout(process.env)) log.warn(doubt);
  // Node would open its debugger, on a port that every user of the machine can reach.
  process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored: start with --inspect to debug'));
  await command(argv.slice(name.split(' ').length), config, log);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  // What stops a start is written for operators; who debugs asks for the stack.
  const message = error instanceof Error ? error.message : String(error);
  console.error(`jobferry: ${message}`);
  if (['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '')) console.error(error);
  process.exit(1);
});
