import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  access,
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { copyBinaries, findBinaries, POSTGRES_MAJOR, programIn } from './binaries.ts';
import { freePort } from './free-port.ts';
import { canEnter, chooseServerUser, runAs, type ServerUser } from './server-user.ts';

export interface EmbeddedLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** An embedded server: its files, programs and user. */
export interface Cluster {
  /** PostgreSQL's data directory. */
  folder: string;
  binaries: string;
  user: ServerUser;
  password: string;
}

export const SUPERUSER = 'jobferry';
const CLUSTER_NAME = 'postgres';
const PASSWORD_FILE = 'jobferry.password';
const LOG_FILE = 'server.log';
/** Used only as root, if the server's user cannot enter DATA_DIR. */
const FALLBACK_HOME = '/var/lib/jobferry';
/** In seconds. Recovery after a crash replays the write-ahead log, at most about 1 GB. */
const PG_CTL_TIMEOUT = '60';

/** Opens the cluster of a data directory, and creates it if there is none. */
export async function openCluster(dataDir: string, log: EmbeddedLog): Promise<Cluster> {
  const refuse = (error: Error): never => {
    throw new Error(`DATA_DIR ${dataDir} cannot be used: ${error.message}`, { cause: error });
  };
  await makeFolder(resolve(dataDir)).catch(refuse);
  const present = await realpath(join(dataDir, CLUSTER_NAME)).catch(() => null);
  await access(present ?? dataDir, constants.W_OK | constants.X_OK).catch(refuse);
  const user = await chooseServerUser(present ?? join(dataDir, CLUSTER_NAME));
  const home = present === null ? await findHome(await realpath(dataDir), user, log) : dirname(present);
  const installed = await findBinaries();
  const binaries = (await canEnter(user, join(installed, 'bin'))) ? installed : await copyBinaries(installed, home);
  const folder = join(home, CLUSTER_NAME);
  if (present === null) await initialise(folder, binaries, user);
  if (home !== (await realpath(dataDir))) await linkFrom(dataDir, folder).catch(refuse);

  const version = await readFile(join(folder, 'PG_VERSION'), 'utf8').then(
    (text) => text.trim(),
    (error: unknown) => refuse(new Error(`${folder} exists, but is not a database of Jobferry`, { cause: error })),
  );
  if (version !== POSTGRES_MAJOR) {
    throw new Error(
      `${folder} was created by PostgreSQL ${version} and cannot be opened by ${POSTGRES_MAJOR}: ` +
        'export it with pg_dump of the old version, and import it into an empty DATA_DIR',
    );
  }
  return { folder, binaries, user, password: (await readFile(join(folder, PASSWORD_FILE), 'utf8')).trim() };
}

/** Creates a folder and its parents. Node's recursive mkdir never ends if a file system such as /proc returns ENOENT. */
async function makeFolder(path: string): Promise<void> {
  const isThere = await stat(path).then(
    (found) => {
      if (!found.isDirectory()) throw new Error(`${path} is a file`);
      return true;
    },
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return false;
    },
  );
  if (isThere) return;
  await makeFolder(dirname(path));
  await mkdir(path).catch((error: NodeJS.ErrnoException) => {
    // Several processes may start at the same time.
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Writes the configuration and starts the server. @returns the port */
export async function startServer(cluster: Cluster, formerPort?: number): Promise<number> {
  const port = formerPort ?? (await freePort());
  await configure(cluster);
  const log = join(cluster.folder, LOG_FILE);
  try {
    // pg_ctl starts the server in its own process session, so that Ctrl-C in a terminal does not reach it.
    await pgCtl(cluster, 'start', '--wait', '--timeout', PG_CTL_TIMEOUT, '--log', log, '-o', `-p ${port}`);
  } catch (error) {
    const tail = (await readFile(log, 'utf8').catch(() => '')).trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`the embedded PostgreSQL did not start. The last lines of ${log}:\n${tail}`, { cause: error });
  }
  return port;
}

/** Closes all connections, writes all data to disk, and stops the server. Resolves when it has stopped. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await pgCtl(cluster, 'stop', '--wait', '--timeout', PG_CTL_TIMEOUT, '--mode', 'fast');
}

/** Reads the lock file of a server that runs or was killed. @returns null when there is none */
export async function readServerLock(cluster: Cluster): Promise<{ pid: number; port: number } | null> {
  const lines = (await readFile(lockFile(cluster), 'utf8').catch(() => '')).split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port } : null;
}

/**
 * Removes the lock file of a killed server. In a new container its pid soon belongs to another process, and the server
 * would then always refuse to start.
 */
export async function removeServerLock(cluster: Cluster): Promise<void> {
  await rm(lockFile(cluster), { force: true });
}

/** Removes files of starts that were killed before they were complete. Only the owner of the cluster may call it. */
export async function removeUnfinished(cluster: Cluster): Promise<void> {
  const home = dirname(cluster.folder);
  for (const name of await readdir(home)) {
    if (name.startsWith(`${CLUSTER_NAME}.new-`)) await rm(join(home, name), { recursive: true, force: true });
  }
}

function lockFile(cluster: Cluster): string {
  return join(cluster.folder, 'postmaster.pid');
}

async function pgCtl(cluster: Cluster, ...args: string[]): Promise<void> {
  await runAs(cluster.user, programIn(cluster.binaries, 'pg_ctl'), [...args, '--silent', '-D', cluster.folder]);
}

async function findHome(dataDir: string, user: ServerUser, log: EmbeddedLog): Promise<string> {
  if (user === null) return dataDir;
  // Changes the owner of an empty folder only.
  if ((await readdir(dataDir)).length === 0) await chown(dataDir, user.uid, user.gid);
  if (await canEnter(user, dataDir)) return dataDir;
  const home = join(FALLBACK_HOME, createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 12));
  await makeFolder(home);
  if (!(await canEnter(user, home))) {
    throw new Error(
      `PostgreSQL refuses to run as root, and user ${user.uid}, which runs it instead, can enter neither ` +
        `DATA_DIR ${dataDir} nor ${home}: set DATA_DIR to a folder that it can enter`,
    );
  }
  log.warn({ dataDir, home }, 'the user that runs PostgreSQL cannot enter DATA_DIR, so the data is kept elsewhere');
  return home;
}

async function linkFrom(dataDir: string, folder: string): Promise<void> {
  const link = join(dataDir, CLUSTER_NAME);
  await symlink(folder, link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Creates the cluster in another folder and renames it, so that a kill or a second process leaves no broken cluster. */
async function initialise(folder: string, binaries: string, user: ServerUser): Promise<void> {
  const unfinished = await mkdtemp(`${folder}.new-`);
  if (user !== null) await chown(unfinished, user.uid, user.gid);
  await chmod(unfinished, 0o711);
  const data = join(unfinished, basename(folder));
  const passwordFile = join(unfinished, PASSWORD_FILE);
  await writeAs(user, passwordFile, randomBytes(24).toString('base64url'), 0o600);
  // The same sort order on every platform: by code points.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const access = ['--username', SUPERUSER, '--pwfile', passwordFile, '--auth=scram-sha-256'];
  await runAs(user, programIn(binaries, 'initdb'), ['-D', data, ...locale, ...access, '--no-instructions']);
  await rename(passwordFile, join(data, PASSWORD_FILE));
  await rename(data, folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST' && error.code !== 'EPERM') throw error;
  });
  await rm(unfinished, { recursive: true });
}

async function writeAs(user: ServerUser, path: string, text: string, mode: number): Promise<void> {
  await writeFile(path, text, { mode });
  if (user !== null) await chown(path, user.uid, user.gid);
}

/** Writes the configuration atomically, because another process may be starting a server with it. */
async function configure(cluster: Cluster): Promise<void> {
  const file = join(cluster.folder, 'postgresql.conf');
  await writeAs(cluster.user, `${file}.${process.pid}`, CONFIGURATION, 0o600);
  await rename(`${file}.${process.pid}`, file);
}

const CONFIGURATION = `# Written by Jobferry at every start. Your own settings belong in local.conf in the same folder.
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 100
shared_buffers = 128MB
# A publish that was answered must survive a power cut.
fsync = on
synchronous_commit = on
# Short statements only: compiling them costs more than it saves.
jit = off
random_page_cost = 1.1
# Jobs are updated several times and then deleted, so dead rows are vacuumed early.
autovacuum_naptime = 10s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
log_min_messages = warning
log_checkpoints = off
timezone = 'UTC'
log_timezone = 'UTC'
include_if_exists = 'local.conf'
`;
