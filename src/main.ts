#!/usr/bin/env node
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { type Config, parseConfig, type Role } from './config.ts';
import { createAccount, createApiKey, revokeApiKey } from './db/accounts.ts';
import { createPrisma } from './db/connection/prisma.ts';
import { OPERATOR } from './domain/audit.ts';
import { boundUrl, localUrl } from './domain/listening-address.ts';
import { createLevelSwitch, createLog, type Logger } from './log.ts';
import { type OpenDatabase, openDatabase } from './open-database.ts';
import { describeApiKey, generateApiKey } from './services/accounts/api-key.ts';
import { createLink } from './services/sign-in/sessions.ts';
import type { Service } from './start.ts';
import { doubtsAbout, withSecretFiles } from './variables.ts';

const USAGE = `jobferry <command>

  serve [--role all|api|worker]      start the service (API and worker in one process by default)
  migrate                            update the database to this version's schema
  account create --name N --plan P   create an account
  key create --account ID            create an API key; it is shown once
  key revoke ID                      revoke an API key; every process refuses it within a second
  sign-in-link [--account ID]        print a link that signs in to the dashboard once, within ten minutes
  demo                               run a demo: a receiver that misbehaves, and real payloads

All other settings are environment variables, see README.md.`;

/** A mistake of the operator in the command line. */
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
  'sign-in-link': signInLink,
  demo: async (args, config) => {
    parse(args, {});
    // Loaded only for this command: the admin commands need neither HTTP nor GraphQL.
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
  const service = await starting;
  // stdout is for people; the log is on stderr.
  console.log(`Jobferry is listening on ${service.url}\n${listOf(service)}`);
  if (mayShowLink(config)) await showLink(service, log);
}

const LABELS: Readonly<Record<string, string>> = {
  dashboard: 'dashboard',
  documentation: 'REST API',
  graphql: 'GraphQL',
};

/** What people can open, one line each; nothing for a worker. */
function listOf({ address, places }: Service): string {
  if (address === null) return '';
  const shown = Object.entries(places).filter(([name]) => LABELS[name] !== undefined);
  return shown.map(([name, path]) => `\n  ${new URL(path, address).href.padEnd(36)}${LABELS[name]}`).join('');
}

/** In production the output usually goes to a log that many people can read: `sign-in-link` prints one there on request. */
function mayShowLink({ environment, oidc }: Config): boolean {
  return environment !== 'production' && oidc?.only !== true;
}

async function showLink(service: Service, log: Logger): Promise<void> {
  // Signing in is also possible with an API key, so the service runs without the link.
  const link = await service.signInLink().catch((error: unknown) => {
    log.warn({ err: error }, 'creating a sign-in link failed');
    return null;
  });
  if (link !== null) console.log(`\nSign in to the dashboard (works once, for ten minutes):\n\n  ${link}\n`);
}

async function signInLink(args: string[], config: Config, log: Logger): Promise<void> {
  const { values } = parse(args, { account: { type: 'string' } });
  if (config.oidc?.only === true)
    throw new UsageError('OIDC_ONLY is set, so no link signs in: use the OpenID provider');
  const local = localUrl(boundUrl(config.host, config.port));
  const address = config.publicUrl ?? (local === null ? null : new URL(local));
  if (address === null) throw new UsageError('HOST is a unix socket: set PUBLIC_URL to the address in browsers');
  await admin(config, log, async ({ db }) => {
    return { link: await createLink(db, values.account ?? null, address) };
  });
}

function showKey(key: string, url: string, config: Config): void {
  const curl = url.startsWith('unix:')
    ? `curl -s --unix-socket ${url.slice('unix:'.length)} http://localhost`
    : `curl -s ${(localUrl(url) ?? '').replace(/\/$/, '')}`;
  const where = config.databaseUrl === undefined ? `, and stored in ${config.dataDir}/api-key` : '';
  console.log(`
Your API key (shown once${where}):

  ${key}

Try it:

  ${curl}/v1/queues -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"name":"hello","webhookUrl":"http://127.0.0.1:9000/"}'
  ${curl}/v1/queues/hello/jobs -H 'authorization: Bearer ${key}' -H 'content-type: application/json' \\
    -d '{"payload":{"hello":"world"}}'
`);
}

/** A signal during the start waits this long for the start to finish, so that no embedded database is left running. */
const START_GRACE_MS = 10_000;

function stopOnSignal(starting: Promise<Service>, log: Logger): void {
  let stopping = false;
  const stop = (reason: string) => {
    if (stopping) return;
    stopping = true;
    log.info({ reason }, 'stopping: waiting for running requests and deliveries');
    let started = false;
    setTimeout(() => {
      if (started) return;
      log.warn('the start did not finish in time after a signal: exiting');
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
  // A terminal that is closed sends SIGHUP.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, stop);
  if (process.env.npm_lifecycle_event === 'start') stopWithParent(stop);
}

/** npm sends SIGTERM to the shell that it started, which ends without passing it on to this process. */
function stopWithParent(stop: (reason: string) => void): void {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop('npm has ended');
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
    // The limit on the number of keys holds for API clients, not for the operator.
    const { id } = await createApiKey(createPrisma(db), by, { name: null, ...describeApiKey(key) }, () => undefined);
    return { id, accountId, key };
  });
}

async function keyRevoke(args: string[], config: Config, log: Logger): Promise<void> {
  const { positionals } = parse(args, {}, 1);
  const id = required(positionals[0], 'the id of the key');
  await admin(config, log, async ({ db }) => {
    if (!(await revokeApiKey(db, OPERATOR, null, id)))
      throw new UsageError(`key ${id} does not exist or is already revoked`);
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

/** @throws UsageError for unknown arguments: a misspelt one must not be ignored */
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

/** Returns a message about a wrong option. It is clearer than Node's, which is used if this is null. */
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
      return `${token.rawName} needs a value; if it begins with "-", write ${token.rawName}=-…`;
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
  // A log in production is for programs, also when someone starts a command by hand.
  const isForPeople = process.stderr.isTTY === true && config.environment !== 'production';
  const log = createLog({ level: config.logLevel, pretty: isForPeople });
  for (const doubt of doubtsAbout(process.env)) log.warn(doubt);
  // Node would open its debugger, on a port that every user of the machine can reach.
  process.on('SIGUSR1', () => log.warn('SIGUSR1 is ignored: start with --inspect to debug'));
  process.on('SIGUSR2', createLevelSwitch(log));
  await command(argv.slice(name.split(' ').length), config, log);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  // The message is written for operators. The stack is printed only at the log levels for debugging.
  const message = error instanceof Error ? error.message : String(error);
  console.error(`jobferry: ${message}`);
  if (['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '')) console.error(error);
  process.exit(1);
});
