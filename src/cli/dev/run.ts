import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createAccount, createApiKey } from '../../db/accounts.ts';
import { clockAheadMs, knownAheadMs } from '../../db/clock-travel.ts';
import type { Database } from '../../db/connection/database.ts';
import { createPrisma } from '../../db/connection/prisma.ts';
import { findCluster, hasListener, removeDataDir } from '../../db/embedded/cluster.ts';
import { lockFolder } from '../../db/embedded/folder-lock.ts';
import { isLock } from '../../db/embedded/server-files.ts';
import { isAlive, isServerOf } from '../../db/embedded/server-process.ts';
import { listAccounts } from '../../db/operator/accounts.ts';
import { signingSecretOf } from '../../db/operator/queues.ts';
import { suspendAccount } from '../../db/operator/suspension.ts';
import type { Sender } from '../../delivery/send.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { localUrl } from '../../domain/listening-address.ts';
import type { Config } from '../../process/config.ts';
import { describeApiKey, generateApiKey } from '../../services/accounts/api-key.ts';
import { forgetAddress, rememberAddress } from './address-file.ts';
import { type AttemptSeen, attemptLine, watchSender } from './attempts.ts';
import { createDevClient, type DevClient } from './client.ts';
import { type ForwardedQueue, TargetPauses } from './pauses.ts';
import { type Target, targetsOf } from './targets.ts';

const NAME = 'tests';

/** Accounts that follow each other, so that tests find nothing of the tests before them. */
async function accountsInTurn(db: Database, plan: string) {
  const [first] = await listAccounts(db, { after: null, limit: 1 });
  let current = first?.id;
  const prisma = createPrisma(db);
  return {
    /** Creates an account. The one before is suspended, so none of its deliveries begins any more. */
    async next(): Promise<{ apiKey: string; accountId: string }> {
      const account = await createAccount(prisma, { name: NAME, plan }, OPERATOR);
      const apiKey = generateApiKey();
      const by = { accountId: account.id, actor: OPERATOR };
      await createApiKey(prisma, by, { ...describeApiKey(apiKey), name: NAME }, null, () => undefined);
      if (current !== undefined) await suspendAccount(db, OPERATOR, current);
      current = account.id;
      return { apiKey, accountId: account.id };
    },
  };
}

/**
 * Folder of the database and the key, in the present folder. It is not that of `serve`,
 * which `--fresh` must not delete.
 */
export const DATA_DIR = '.jobferry';
/** The entries of a folder of data. */
const OWN_FILES = /^(?:postgres(?:ql-.*|\.new-.*)?|jobferry-postgresql\.new-.*|api-key|url|\.gitignore)$/;
/** Rows past retention are removed this soon after the clock was moved. */
const SWEEP_MS = 2000;
/** Addresses of a developer's machine and of its containers. */
const ALLOWED = ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

interface DevOptions {
  /**
   * URLs that are separated by commas; null for a receiver of its own, which takes every delivery; empty for no queue.
   */
  forward: string | null;
  /** Folder of the data. */
  dataDir: string;
  /** Deletes the data of earlier runs. */
  isFresh: boolean;
  /** Deletes the data at the end. */
  isDiscarded: boolean;
  print: Print;
}

/** Prints what happens, for people or for programs. */
export interface Print {
  ready(facts: ReadyFacts): void;
  attempt(attempt: AttemptSeen, line: string): void;
  note(event: { type: string; queue?: string }, sentence: string): void;
}

interface ReadyFacts {
  url: string;
  apiKey: string;
  /** In the order of the URLs. */
  queues: { id: string; name: string; url: string; secret: string }[];
}

/** A running service, as the composition root starts it. */
interface RunningService {
  url: string;
  signInLink(): Promise<string | null>;
  stop(): Promise<void>;
}

type StartService = (config: Config, wrapSender: (sender: Sender, db: Database) => Sender) => Promise<RunningService>;

export interface Dev {
  readonly queueIds: readonly string[];
  readonly client: DevClient;
  /** Creates another account, and suspends the one before. For tests. */
  nextAccount(): Promise<{ apiKey: string; accountId: string }>;
  /** Id of the job whose last attempt failed; null if none has. */
  lastFailed(): string | null;
  signInLink(): Promise<string | null>;
  stop(): Promise<void>;
}

/** Starts the service for a developer: one account, a queue for each target, and a line for each attempt. */
export async function startDev(
  config: Config,
  { forward, dataDir, isFresh, isDiscarded, print }: DevOptions,
  start: StartService,
): Promise<Dev> {
  const targets = forward === null || forward === '' ? [] : targetsOf(forward);
  if (isFresh) await removeData(dataDir);
  const watch = createWatch(print);
  const service = await start(devConfig(config, dataDir), watch.wrapSender);
  const echo = forward === null ? await startEcho() : null;
  const stop = async () => {
    await watch.stop();
    await service.stop();
    await echo?.close();
    await forgetAddress(dataDir);
    if (isDiscarded) await removeData(dataDir);
  };
  try {
    const db = watch.database();
    // Not over a file of the folder's owner.
    await writeFile(join(dataDir, '.gitignore'), '*\n', { flag: 'wx' }).catch(() => undefined);
    // On all addresses it is also on that of this machine.
    const url = localUrl(service.url)?.replace(/\/$/, '') ?? service.url;
    await rememberAddress(dataDir, url);
    const apiKey = (await readFile(join(dataDir, 'api-key'), 'utf8')).trim();
    const accounts = await accountsInTurn(db, config.bootstrapPlan);
    const client = createDevClient(url, apiKey);
    const wanted = echo === null ? targets : [{ queue: 'dev', url: new URL(echo.url) }];
    const queues = await openQueues(db, client, wanted);
    print.ready({
      url,
      apiKey,
      queues: queues.map(({ id, name, url, secret }) => ({ id, name, url: url.href, secret })),
    });
    const ahead = await clockAheadMs(db);
    if (ahead > 0)
      print.note({ type: 'clock' }, `the clock is ${ahead / 1000} s ahead: \`jobferry time reset\` puts it back`);
    await watch.begin(queues, config.jobLifetimeMs);
    return {
      queueIds: queues.map(({ id }) => id),
      client,
      stop,
      nextAccount: accounts.next,
      lastFailed: watch.lastFailed,
      signInLink: () => service.signInLink(),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Creates the queues that are missing. */
async function openQueues(
  db: Database,
  client: DevClient,
  targets: readonly Target[],
): Promise<(ForwardedQueue & { secret: string })[]> {
  const [account] = await listAccounts(db, { after: null, limit: 1 });
  if (account === undefined) throw new Error('the database has no account');
  const queues: (ForwardedQueue & { secret: string })[] = [];
  for (const { queue: name, url } of targets) {
    const { id } = await client.ensureQueue(name, url.href);
    const secret = await signingSecretOf(db, id);
    if (secret === null) throw new Error(`queue ${name} is gone`);
    queues.push({ id, name, url, secret, accountId: account.id });
  }
  return queues;
}

/**
 * Watches the attempts of the worker, which may begin before the queues are known here: jobs of an earlier run wait.
 */
function createWatch(print: Print) {
  let database: Database | null = null;
  let lastFailed: string | null = null;
  let width = 0;
  let pauses: TargetPauses | null = null;
  const queues = new Map<string, ForwardedQueue>();
  let know: () => void = () => undefined;
  const known = new Promise<void>((resolve) => {
    know = resolve;
  });

  async function onUnreachable(name: string, url: string): Promise<boolean> {
    await known;
    const queue = queues.get(name);
    // In the dashboard, the queue may have got another URL.
    if (queue === undefined || pauses === null || new URL(url).host !== queue.url.host) return false;
    return pauses.pause(queue).then(
      () => true,
      () => false,
    );
  }

  return {
    wrapSender(sender: Sender, db: Database): Sender {
      database = db;
      // It may be ahead from an earlier run.
      clockAheadMs(db).catch(() => undefined);
      const onAttempt = (attempt: AttemptSeen) => {
        if (attempt.statusCode === null || attempt.statusCode > 299) lastFailed = attempt.jobId;
        print.attempt(attempt, attemptLine(attempt, width));
      };
      // As the history of the job has it, also after `jobferry time`.
      const now = () => new Date(Date.now() + knownAheadMs(db));
      return watchSender(sender, { now, onAttempt, onUnreachable });
    },
    database(): Database {
      if (database === null) throw new Error('the service started without a worker');
      return database;
    },
    lastFailed: () => lastFailed,
    async begin(all: readonly ForwardedQueue[], lifetimeMs: number): Promise<void> {
      for (const queue of all) queues.set(queue.name, queue);
      width = Math.max(...all.map(({ name }) => name.length));
      pauses = new TargetPauses({ ...noticesOf(print), db: this.database(), lifetimeMs });
      know();
      for (const queue of all) await pauses.look(queue);
    },
    /** Lets deliveries end that wait for what `begin` tells. */
    async stop(): Promise<void> {
      know();
      await pauses?.stop();
    },
  };
}

function noticesOf(print: Print) {
  return {
    onDown: ({ name, url }: ForwardedQueue) =>
      print.note(
        { type: 'down', queue: name },
        `${name} is paused: nothing listens at ${url.host}. Jobs wait, and no attempt is used.`,
      ),
    onUp: ({ name, url }: ForwardedQueue) =>
      print.note({ type: 'up', queue: name }, `${name} is resumed: ${url.host} listens`),
    onError: (error: unknown) => print.note({ type: 'error' }, String(error)),
  };
}

/** @throws Error while another `dev` runs on the data, or if the folder has other data */
async function removeData(dataDir: string): Promise<void> {
  const names = await readdir(dataDir).catch(() => []);
  const foreign = names.find((name) => !OWN_FILES.test(name) && !isLock(name));
  if (foreign !== undefined) {
    throw new Error(
      `${dataDir} has ${foreign}, which jobferry dev did not create: it deletes only folders with its own data`,
    );
  }
  if (names.length === 0) return;
  // A process of another container may use the data.
  const lock = await lockFolder(dataDir, 'command', { info: () => undefined, warn: () => undefined });
  try {
    await assertNoServer(dataDir);
    await removeDataDir(dataDir);
  } finally {
    await lock.release();
  }
}

/** @throws Error if a `dev` that was killed has left its server */
async function assertNoServer(dataDir: string): Promise<void> {
  const folder = await findCluster(dataDir);
  if (folder === null) return;
  const lock = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(lock, 10);
  const isHere = pid > 0 && isAlive(pid) && (await isServerOf(folder, pid));
  // Its pid is unknown in this container, but its socket is in the folder.
  if (!isHere && !(await hasListener({ folder }))) return;
  const where = isHere ? `process ${pid}` : 'most likely in another container';
  throw new Error(
    `the database in ${dataDir} runs (${where}): stop jobferry dev in this folder before --fresh deletes its data`,
  );
}

function devConfig(config: Config, dataDir: string): Config {
  return {
    ...config,
    role: 'all',
    environment: 'development',
    dataDir,
    shutdownDelayMs: 0,
    // Its clock is moved on purpose.
    maxClockJumpMs: Number.MAX_SAFE_INTEGER,
    retentionSweepMs: SWEEP_MS,
    databaseUrl: undefined,
    directDatabaseUrl: undefined,
    replica: null,
    webhookAllowCidrs: [...config.webhookAllowCidrs, ...ALLOWED],
  };
}

/** The variables of a receiver and a publisher, as lines of a `.env` file. */
export function envLines({ url, apiKey, queues }: ReadyFacts): string[] {
  const named = queues.map(
    ({ name, secret }) => `JOBFERRY_SECRET_${name.toUpperCase().replaceAll('-', '_')}=${secret}`,
  );
  // The oldest queue keeps the plain name when other URLs are added, before it or after it. Ids begin with the time.
  const [oldest] = [...queues].sort((a, b) => (a.id < b.id ? -1 : 1));
  const plain = oldest === undefined ? [] : [`JOBFERRY_SECRET=${oldest.secret}`];
  return [`JOBFERRY_URL=${url}`, `JOBFERRY_API_KEY=${apiKey}`, ...plain, ...(queues.length > 1 ? named : [])];
}

/** A receiver that takes every delivery, for a first look without one of your own. */
async function startEcho(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((req, res) => {
    req.resume();
    req.on('end', () => res.end('received'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
