import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type EmbeddedDatabase, joinEmbedded, startEmbedded } from '../../src/db/embedded/server.ts';
import { ask } from '../support/ask.ts';
import { builtService } from '../support/built.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { info: () => undefined, warn: () => undefined };

let dataDir = '';
const running: EmbeddedDatabase[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'jobferry-embedded-'));
  // Locales and a time zone that are not installed; the first start creates the database.
  for (const [name, value] of [
    ['LC_ALL', 'xx_YY.UTF-8'],
    ['LANG', 'xx'],
    ['TZ', 'Nowhere/Bad'],
  ] as const)
    vi.stubEnv(name, value);
});
afterAll(() => vi.unstubAllEnvs());

afterEach(stopAll);

async function stopAll(): Promise<void> {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const database of running.splice(0)) await database.stop();
}

afterAll(async () => {
  // A test that failed may have left a server behind: taking it over is the way to stop it.
  const last = await startEmbedded({ dataDir, log });
  await last.stop();
  await rm(dataDir, { recursive: true });
});

async function start(): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ dataDir, log });
  running.push(database);
  return database;
}

async function serverPid(): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8'), 10);
}

/** Another process that starts the server: in a group of its own, like a command in a terminal. */
async function startInChild(): Promise<{ child: ChildProcess; url: string }> {
  const built = new URL('src/db/embedded/server.js', pathToFileURL(builtService())).href;
  const script = `
    import { startEmbedded } from ${JSON.stringify(built)};
    const log = { info() {}, warn() {} };
    process.on('SIGINT', () => console.log('interrupted'));
    console.log((await startEmbedded({ dataDir: process.argv[1], log })).url);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return { child, url: await nextLine(child) };
}

function nextLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the process ended with ${code}`)));
    if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
  });
}

describe.skipIf(hasGivenServer)('embedded PostgreSQL', () => {
  it('keeps its promises about durability, text and access', async () => {
    const { url } = await start();
    expect(await ask(url, 'show fsync')).toBe('on');
    expect(await ask(url, 'show synchronous_commit')).toBe('on');
    expect(await ask(url, 'show listen_addresses')).toBe('127.0.0.1');
    expect(await ask(url, 'show server_encoding')).toBe('UTF8');
    expect(await ask(url, `select datlocale from pg_database where datname = current_database()`)).toBe('C.UTF-8');
    const stranger = new URL(url);
    stranger.password = 'guessed';
    await expect(ask(stranger.href, 'select 1')).rejects.toThrow(/password authentication failed/);
    expect((await stat(join(dataDir, 'postgres/jobferry.password'))).mode & 0o777).toBe(0o600);
  });

  it('keeps its data, its password and nothing unfinished over a restart', async () => {
    const first = await start();
    await ask(first.url, 'create table kept as select 42 as answer');
    await first.stop();
    const second = await start();
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
    expect(await ask(second.url, 'select answer from kept')).toBe(42);
    expect((await readdir(dataDir)).filter((name) => name.includes('.new-'))).toEqual([]);
  });

  it('refuses a data folder in use, and names the process that uses it', async () => {
    const { url } = await start();
    const again = startEmbedded({ dataDir, log });
    await expect(again).rejects.toThrow(new RegExp(`in use by another Jobferry \\(process ${process.pid}\\)`));
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it('lets an admin command join a server in use, without stopping it', async () => {
    const { url } = await start();
    const guest = await joinEmbedded({ dataDir, log, mayCreate: false });
    expect(guest.url).toBe(url);
    await guest.stop();
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it('creates no database for a command', async () => {
    const empty = await mkdtemp(join(tmpdir(), 'jobferry-empty-'));
    const command = () => joinEmbedded({ dataDir: empty, log, mayCreate: false });
    await expect(command()).rejects.toThrow(
      `no database in ${empty} here: start \`jobferry serve\`, or set DATABASE_URL or`,
    );
    await mkdir(`${empty}/postgres.new-${process.ppid}-1`);
    await expect(command()).rejects.toThrow(`process ${process.ppid} is creating the database in ${empty}: try again`);
    await rm(empty, { recursive: true });
  });

  it('waits for a command that uses the server', async () => {
    const command = await joinEmbedded({ dataDir, log, mayCreate: true });
    const waits = new Promise<void>((resolve) => {
      const info = () => resolve();
      void startEmbedded({ dataDir, log: { ...log, info } }).then((database) => running.push(database));
    });
    await waits;
    await command.stop();
    await waitFor(() => running.length === 1);
    expect(await ask(running[0]?.url ?? '', 'select 1')).toBe(1);
  });

  it('removes what killed starts have left, and nothing of a start that goes on', async () => {
    const dead = spawn(process.execPath, ['--version']);
    await new Promise((resolve) => dead.once('exit', resolve));
    const folder = (name: string) => join(dataDir, `postgres.new-${name}`);
    const left = [folder(`${dead.pid}-a`), folder(`${process.pid}-b`), folder('Xyz123')];
    const alive = folder(`${process.ppid}-c`);
    for (const path of [...left, alive]) {
      await mkdir(join(path, 'postgres'), { recursive: true });
      const { uid, gid } = await stat(join(dataDir, 'postgres'));
      for (const one of [path, join(path, 'postgres')]) await chown(one, uid, gid);
    }
    await start();
    expect((await readdir(dataDir)).filter((name) => name.includes('.new-'))).toEqual([
      `postgres.new-${process.ppid}-c`,
    ]);
    await rm(alive, { recursive: true });
  });

  it('gives one of two that start together the server', async () => {
    const results = await Promise.allSettled([startEmbedded({ dataDir, log }), startEmbedded({ dataDir, log })]);
    const started = results.filter((result) => result.status === 'fulfilled').map((result) => result.value);
    running.push(...started);
    expect(started).toHaveLength(1);
    expect(await ask(started[0]?.url ?? '', 'select 1')).toBe(1);
  });

  it('takes over the server of a process that was killed', async () => {
    const { child, url } = await startInChild();
    await ask(url, 'create table if not exists left_over (id integer)');
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    const database = await start();
    expect(await ask(database.url, `select to_regclass('left_over') is not null`)).toBe(true);
  });

  it.skipIf(process.platform === 'win32')(
    'is stopped by a command that a signal ends, also while it starts',
    async () => {
      for (const isReady of [false, true]) {
        const built = new URL('src/db/embedded/server.js', pathToFileURL(builtService())).href;
        const script = `
        import { joinEmbedded } from ${JSON.stringify(built)};
        const log = { info() {}, warn() {} };
        console.log((await joinEmbedded({ dataDir: process.argv[1], log, mayCreate: true })).url);
        setInterval(() => {}, 1000);`;
        const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], {
          detached: true,
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        children.push(child);
        const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
        const lock = join(dataDir, 'postgres/postmaster.pid');
        if (isReady) await nextLine(child);
        else await waitFor(() => existsSync(lock), { everyMs: 1 });
        // As Ctrl-C does, which also reaches the program that starts the server.
        process.kill(-(child.pid ?? 0), 'SIGINT');
        expect([await ended, existsSync(lock)]).toEqual(['SIGINT', false]);
      }
    },
  );

  it.skipIf(process.platform === 'win32')('does not get the Ctrl-C of the terminal', async () => {
    const { child, url } = await startInChild();
    const heard = nextLine(child);
    process.kill(-(child.pid ?? 0), 'SIGINT');
    expect(await heard).toBe('interrupted');
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it.skipIf(process.platform === 'win32')('comes back at the same address when its server is killed', async () => {
    const { url } = await start();
    const pid = await serverPid();
    process.kill(pid, 'SIGKILL');
    // Until then there may be no file with its id, and no one who answers.
    const isBack = async () => (await serverPid()) !== pid && (await ask(url, 'select 1')) === 1;
    await waitFor(() => isBack().catch(() => false), { message: 'the server to come back' });
  });
});

/** The server's user may write into the folders of its data, and the process that starts the server is root. */
describe.skipIf(hasGivenServer || process.getuid?.() !== 0)(
  'started as root (skipped for other users, who have no server user)',
  () => {
    const SECRET = 'a file of root';
    let folder = '';
    let secret = '';
    let owner = { uid: 0, gid: 0 };

    beforeEach(async () => {
      // The server's user can enter the folder, but not read the secret in it.
      folder = await mkdtemp(join(tmpdir(), 'jobferry-root-'));
      await chmod(folder, 0o711);
      secret = join(folder, 'secret');
      await writeFile(secret, SECRET, { mode: 0o600 });
    });

    afterEach(async () => {
      await stopAll();
      expect([await readFile(secret, 'utf8'), (await stat(secret)).uid]).toEqual([SECRET, 0]);
      await rm(folder, { recursive: true });
    });

    /** A cluster in a folder that belongs to its user, as earlier releases made it. */
    async function madeCluster(): Promise<string> {
      const own = join(folder, 'data');
      await (await start()).stop();
      spawnSync('cp', ['-a', dataDir, own]);
      owner = await stat(join(own, 'postgres'));
      expect(owner.uid).not.toBe(0);
      await chown(own, owner.uid, owner.gid);
      return own;
    }

    it('keeps DATA_DIR, and gives the server no variable that may be a secret', async () => {
      process.env.JOBFERRY_TEST_SECRET = 'of-root';
      const own = join(folder, 'data');
      const database = await startEmbedded({ dataDir: own, log });
      running.push(database);
      delete process.env.JOBFERRY_TEST_SECRET;
      expect((await stat(own)).uid).toBe(0);
      const pid = Number.parseInt(await readFile(join(own, 'postgres/postmaster.pid'), 'utf8'), 10);
      expect(await readFile(`/proc/${pid}/environ`, 'utf8')).not.toContain('of-root');
    });

    it('writes through no link that the server’s user has made', async () => {
      const own = await madeCluster();
      const data = join(own, 'postgres');
      for (const name of [`postgresql.conf.${process.pid}`, 'postgresql.conf']) {
        await rm(join(data, name), { force: true });
        await symlink(secret, join(data, name));
      }
      await symlink(secret, join(own, 'api-key'));
      const database = await startEmbedded({ dataDir: own, log });
      running.push(database);
      await database.keep('api-key', 'key');
      const kept = await lstat(join(own, 'api-key'));
      expect([kept.isFile(), kept.mode & 0o777]).toEqual([true, 0o600]);
      expect(await readFile(join(own, 'api-key'), 'utf8')).toBe('key');
      expect((await lstat(join(data, 'postgresql.conf'))).isFile()).toBe(true);
    });

    it('creates a cluster in a folder of another user with the rights of that user', async () => {
      const own = await madeCluster();
      await rm(join(own, 'postgres'), { recursive: true });
      const database = await startEmbedded({ dataDir: own, log });
      running.push(database);
      expect(await stat(join(own, 'postgres'))).toMatchObject({ uid: owner.uid });
      expect((await readdir(own)).filter((name) => !name.startsWith('.lock-'))).toEqual(['postgres']);
    });

    it('shows nothing of a file that the server’s user cannot read', async () => {
      const own = await madeCluster();
      const failure = () =>
        startEmbedded({ dataDir: own, log }).then(
          () => 'it started',
          (error: unknown) => String(error),
        );
      for (const name of ['server.log', 'jobferry.password', 'PG_VERSION']) {
        await rm(join(own, 'postgres', name), { force: true });
        await symlink(secret, join(own, 'postgres', name));
        if (name === 'server.log') await writeFile(join(own, 'postgres/local.conf'), 'no_such_setting = 1');
        const said = await failure();
        expect(said, name).not.toBe('it started');
        expect(said, name).not.toContain(SECRET);
      }
    });

    it('takes no link to files of a third user for its data', async () => {
      const own = await madeCluster();
      await rm(join(own, 'postgres'), { recursive: true });
      const theirs = join(folder, 'theirs');
      await mkdir(theirs);
      await chown(theirs, 12345, 12345);
      await symlink(theirs, join(own, 'postgres'));
      await lchown(join(own, 'postgres'), owner.uid, owner.gid);
      await expect(startEmbedded({ dataDir: own, log })).rejects.toThrow('is a link of user');
    });
  },
);
