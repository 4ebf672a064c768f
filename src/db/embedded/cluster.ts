import { createHash, randomBytes } from 'node:crypto';
import { constants, readFileSync } from 'node:fs';
import { access, chmod, lstat, mkdir, readdir, realpath, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { findBinaries, POSTGRES_MAJOR, programIn, shellSignIn, usableBinaries } from './binaries.ts';
import { freePort } from './free-port.ts';
import {
  assertOwnLink,
  isLock,
  makeFolderAs,
  moveFolderAs,
  readFileOf,
  removeFolderAs,
  writeFileAs,
  writerOf,
} from './server-files.ts';
import { isAlive } from './server-process.ts';
import { canEnter, chooseServerUser, runAs, runProgram, type ServerUser } from './server-user.ts';
import { isListening } from './unix-socket.ts';

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
  /** Whether the server also listens on a unix socket in its folder, by which other containers see that it runs. */
  hasSocket?: boolean;
}

export const SUPERUSER = 'jobferry';
const CLUSTER_NAME = 'postgres';
const PASSWORD_FILE = 'jobferry.password';
const LOG_FILE = 'server.log';
/** Begin of the names of folders in which clusters are being created; the id of the process follows. */
const UNFINISHED = `${CLUSTER_NAME}.new-`;
/** Those of this process. */
const creating = new Set<string>();
/** Used only as root, if the server's user cannot enter DATA_DIR. */
const FALLBACK_HOME = '/var/lib/jobferry';
/** In seconds. Recovery after a crash replays the write-ahead log, at most about 1 GB. */
const PG_CTL_TIMEOUT = '60';

/** Creates a data directory that is not there. */
export async function makeDataDir(dataDir: string): Promise<void> {
  const refuse = refuser(dataDir);
  const make = async (path: string) => {
    await assertPlain(path);
    await makeFolder(path);
    // The programs get the path without links.
    await assertPlain(await realpath(path));
  };
  await make(resolve(dataDir)).catch(refuse);
}

async function assertPlain(path: string): Promise<void> {
  const sign = shellSignIn(path);
  if (sign !== null)
    throw new Error(`its path has the character ${JSON.stringify(sign)}, which PostgreSQL does not take (${path})`);
}

function refuser(dataDir: string): (error: Error) => never {
  return (error) => {
    throw new Error(`DATA_DIR ${dataDir} cannot be used: ${error.message}`, { cause: error });
  };
}

/** @throws Error if this process may not write to the cluster of a data directory, or may not create one there */
export async function assertWritable(dataDir: string): Promise<void> {
  const refuse = refuser(dataDir);
  const present = await findCluster(dataDir).catch(refuse);
  await access(present ?? dataDir, constants.W_OK | constants.X_OK).catch(refuse);
}

/** Opens the cluster of a data directory, and creates it if there is none. */
export async function openCluster(dataDir: string, log: EmbeddedLog): Promise<Cluster> {
  const refuse = refuser(dataDir);
  await makeDataDir(dataDir);
  const present = await findCluster(dataDir).catch(refuse);
  if (present !== null) await assertPlain(present).catch(refuse);
  const user = await chooseServerUser(present ?? resolve(dataDir, CLUSTER_NAME));
  const home = present === null ? await findHome(await realpath(dataDir), user, log) : dirname(present);
  const binaries = await usableBinaries(await findBinaries(), home, user);
  const folder = join(home, CLUSTER_NAME);
  if (present === null) await initialise(folder, binaries, user);
  if (home !== (await realpath(dataDir))) await linkFrom(dataDir, folder).catch(refuse);

  const version = await readFileOf(user, join(folder, 'PG_VERSION')).then(
    (text) => text.trim(),
    (error: unknown) => refuse(new Error(`${folder} exists, but is not a database of Jobferry`, { cause: error })),
  );
  if (version !== POSTGRES_MAJOR) {
    throw new Error(
      `${folder} was created by PostgreSQL ${version} and cannot be opened by ${POSTGRES_MAJOR}: ` +
        'export it with pg_dump of the old version, and import it into an empty DATA_DIR',
    );
  }
  return { folder, binaries, user, password: (await readFileOf(user, join(folder, PASSWORD_FILE))).trim() };
}

/** @returns the folder of the cluster, without symbolic links in its path; null if there is none */
export async function findCluster(dataDir: string): Promise<string | null> {
  const entry = join(dataDir, CLUSTER_NAME);
  const folder = await realpath(entry).catch(() => null);
  if (folder !== null && process.getuid?.() === 0) await assertOwnLink(entry, await stat(folder));
  return folder;
}

/** @returns the process that is creating a cluster in the data directory; null if none is */
export async function findCreator(dataDir: string): Promise<number | null> {
  const names = await readdir(dataDir).catch(() => []);
  return names.map(creatorOf).find((pid) => pid !== undefined && isAlive(pid)) ?? null;
}

/**
 * Creates a folder and its parents. Node's recursive mkdir never ends if a file system such as /proc returns ENOENT.
 */
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
  if (!(await hasListener(cluster))) await removeSockets(cluster);
  const log = join(cluster.folder, LOG_FILE);
  try {
    // pg_ctl starts the server in its own process session, so that Ctrl-C in a terminal does not reach it.
    await pgCtl(cluster, 'start', '--wait', '--timeout', PG_CTL_TIMEOUT, '--log', log, '-o', `-p ${port}`);
  } catch (error) {
    const said = (error as { stderr?: string }).stderr?.trim() ?? '';
    const tail = (await readFileOf(cluster.user, log).catch(() => '')).trimEnd().split('\n').slice(-5).join('\n');
    throw new Error(`the embedded PostgreSQL did not start: ${said}\nThe last lines of ${log}:\n${tail}`, {
      cause: error,
    });
  }
  return port;
}

/** Closes all connections, writes all data to disk, and stops the server. Resolves when it has stopped. */
export async function stopServer(cluster: Cluster): Promise<void> {
  await pgCtl(cluster, 'stop', '--wait', '--timeout', PG_CTL_TIMEOUT, '--mode', 'fast');
}

/** Lets the server stop as `stopServer` does, without waiting. */
export function interruptServer(cluster: Cluster): void {
  try {
    process.kill(Number.parseInt(readFileSync(lockFile(cluster), 'utf8'), 10), 'SIGINT');
  } catch {
    // It does not run.
  }
}

/**
 * Reads the lock file of a server that runs or was killed.
 * @returns null when there is none, or a power cut has left a part of it
 */
export async function readServerLock(cluster: Cluster): Promise<{ pid: number; port: number } | null> {
  const lines = (await readFileOf(cluster.user, lockFile(cluster)).catch(() => '')).split('\n');
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 && port > 0 ? { pid, port } : null;
}

/** Removes the lock file of a killed server. */
export async function removeServerLock(cluster: Cluster): Promise<void> {
  const isThere = await lstat(lockFile(cluster)).catch(() => null);
  if (isThere !== null) await removeFiles(cluster, [lockFile(cluster)]);
}

/** Whether a server runs on the folder, also one of another container. */
export async function hasListener(cluster: Pick<Cluster, 'folder'>): Promise<boolean> {
  const sockets = (await socketFiles(cluster)).filter((path) => !path.endsWith('.lock'));
  return (await Promise.all(sockets.map(isListening))).includes(true);
}

/** Removes the sockets of killed servers: a server refuses the one of its port while another process has its pid. */
async function removeSockets(cluster: Cluster): Promise<void> {
  await removeFiles(cluster, await socketFiles(cluster));
}

async function socketFiles({ folder }: Pick<Cluster, 'folder'>): Promise<string[]> {
  const names = await readdir(folder);
  return names.filter((name) => /^\.s\.PGSQL\.\d+(?:\.lock)?$/.test(name)).map((name) => join(folder, name));
}

async function removeFiles({ user }: Cluster, paths: string[]): Promise<void> {
  if (user !== null && paths.length > 0) await runAs(user, '/bin/rm', ['-f', '--', ...paths]);
  if (user === null) for (const path of paths) await rm(path, { force: true });
}

/** Removes files of starts that were killed before they were complete, and none of a start that goes on. */
export async function removeUnfinished(cluster: Cluster): Promise<void> {
  const home = dirname(cluster.folder);
  for (const name of await readdir(home)) {
    const path = join(home, name);
    if (!name.startsWith(UNFINISHED) || isBeingCreated(path)) continue;
    // Files that another user has put there disturb no process.
    await removeFolderAs(cluster.user, path).catch(() => undefined);
  }
}

/** Removes a data directory whose server is stopped. */
export async function removeDataDir(dataDir: string): Promise<void> {
  const cluster = await findCluster(dataDir);
  if (cluster !== null) await removeFolderAs(await chooseServerUser(cluster), cluster);
  await rm(dataDir, { recursive: true, force: true });
}

/** Writes a file of Jobferry into DATA_DIR. Only its owner can read it. */
export async function keepInDataDir(cluster: Cluster, dataDir: string, name: string, text: string): Promise<void> {
  await writeFileAs(await writerOf(dataDir, cluster.user), join(resolve(dataDir), name), text);
}

/** @returns undefined for other names; a release without the id in the name has created the folder */
function creatorOf(name: string): number | undefined {
  const [, pid] = /^postgres\.new-([0-9]+)-/.exec(name) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

/** Whether a start that goes on needs the folder. */
function isBeingCreated(path: string): boolean {
  const pid = creatorOf(basename(path));
  return pid === process.pid ? creating.has(path) : pid !== undefined && isAlive(pid);
}

function lockFile(cluster: Cluster): string {
  return join(cluster.folder, 'postmaster.pid');
}

async function pgCtl(cluster: Cluster, ...args: string[]): Promise<void> {
  await runProgram(cluster.user, programIn(cluster.binaries, 'pg_ctl'), [...args, '--silent', '-D', cluster.folder]);
}

async function findHome(dataDir: string, user: ServerUser, log: EmbeddedLog): Promise<string> {
  if (user === null) return dataDir;
  if (await canEnter(user, dataDir)) return dataDir;
  // The folder stays root's: what root has to write there is then in no way of the server's user.
  const { mode, uid } = await stat(dataDir);
  const isEmpty = (await readdir(dataDir)).every(isLock);
  if (uid === process.getuid?.() && isEmpty) await chmod(dataDir, (mode & 0o777) | 0o111);
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

/**
 * Creates the cluster in another folder and renames it, so that a kill or a second process leaves no broken cluster.
 */
async function initialise(folder: string, binaries: string, user: ServerUser): Promise<void> {
  const writer = await writerOf(dirname(folder), user);
  const unfinished = `${dirname(folder)}/${UNFINISHED}${process.pid}-${randomBytes(6).toString('hex')}`;
  creating.add(unfinished);
  try {
    await makeFolderAs(writer, user, unfinished);
    const data = join(unfinished, basename(folder));
    const passwordFile = join(unfinished, PASSWORD_FILE);
    const password = randomBytes(24).toString('base64url');
    await writeFileAs(user, passwordFile, password);
    // Every platform sorts by code points.
    const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
    const access = ['--username', SUPERUSER, '--pwfile', passwordFile, '--auth=scram-sha-256'];
    await runProgram(user, programIn(binaries, 'initdb'), ['-D', data, ...locale, ...access, '--no-instructions']);
    await writeFileAs(user, join(data, PASSWORD_FILE), password);
    await moveFolderAs(writer, data, folder);
  } finally {
    creating.delete(unfinished);
    await removeFolderAs(user, unfinished).catch(() => undefined);
  }
}

/** Writes the configuration atomically, because another process may be starting a server with it. */
async function configure(cluster: Cluster): Promise<void> {
  const text = CONFIGURATION.replace('$SOCKETS', cluster.hasSocket === true ? '.' : '');
  await writeFileAs(cluster.user, join(cluster.folder, 'postgresql.conf'), text);
}

const CONFIGURATION = `# Written by Jobferry at every start. Your own settings belong in local.conf in the same folder.
listen_addresses = '127.0.0.1'
# In the same folder. Another container that uses the folder finds the server by it.
unix_socket_directories = '$SOCKETS'
max_connections = 100
shared_buffers = 128MB
# A publish that was answered must survive a power cut.
fsync = on
synchronous_commit = on
# Short statements only: compiling them costs more than it saves.
jit = off
random_page_cost = 1.1
# Jobs are updated several times and then deleted, so dead rows are vacuumed early.
autovacuum_naptime = 30s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
log_min_messages = warning
log_checkpoints = off
timezone = 'UTC'
log_timezone = 'UTC'
include_if_exists = 'local.conf'
`;
