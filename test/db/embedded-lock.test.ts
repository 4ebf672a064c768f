import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmod,
  chown,
  constants,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { usableBinaries } from '../../src/db/embedded/binaries.ts';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/server.ts';
import { isAlive } from '../../src/db/embedded/server-process.ts';
import { ask } from '../support/ask.ts';
import { builtService } from '../support/built.ts';
import { CONTAINER, mayUnshare, OWN_NETWORK } from '../support/containers.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { waitFor } from '../support/wait-for.ts';

const log = { info: () => undefined, warn: () => undefined };

let dataDir = '';
const running: EmbeddedDatabase[] = [];
const children: ChildProcess[] = [];

beforeAll(async () => {
  // Longer than a socket's path may be.
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-lock-'));
  // The server's user has to pass through.
  await chmod(folder, 0o711);
  dataDir = join(folder, 'd'.repeat(100));
  await mkdir(dataDir, { recursive: true });
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.kill('SIGKILL')) await ended;
  }
  for (const database of running.splice(0)) await database.stop();
});

afterAll(async () => {
  await rm(join(dataDir, '..'), { recursive: true, maxRetries: 5 });
});

async function start(): Promise<EmbeddedDatabase> {
  const database = await startEmbedded({ dataDir, log });
  running.push(database);
  return database;
}

/** The server of the folder, also one that has not read its settings yet. Linux only. */
async function serverOf(folder: string): Promise<number | undefined> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
  const isServer = (command: string) => /^[^\0]*\/postgres\0/.test(command) && command.includes(`\0-D\0${folder}\0`);
  const at = commands.findIndex(isServer);
  return at < 0 ? undefined : Number(pids[at]);
}

const lockFile = () => readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8');

/** Starts a program of Node in another container, with a shell that has the program as its arguments. */
function inContainer(expression: string, { network, shell = 'exec "$@"' }: { network: boolean; shell?: string }) {
  const built = new URL('src/db/embedded/server.js', pathToFileURL(builtService())).href;
  const script = `
    import { joinEmbedded, startEmbedded } from ${JSON.stringify(built)};
    const options = { dataDir: process.argv[1], log: { info() {}, warn() {} } };
    ${expression}.then(
      ({ url }) => console.log('started', url),
      (error) => { console.log(error.message); process.exit(1); },
    );
    setInterval(() => {}, 1000);`;
  const flags = network ? [...CONTAINER, OWN_NETWORK] : CONTAINER;
  const program = [process.execPath, '--input-type=module', '-e', script, dataDir];
  const child = spawn('unshare', [...flags, 'sh', '-c', shell, 'sh', ...program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  return { child, next: () => new Promise<string>((resolve) => lines.once('line', resolve)) };
}

describe.skipIf(hasGivenServer)('the lock of an embedded PostgreSQL', () => {
  it('leaves no file at the end, also of processes that were killed', async () => {
    const locks = async () => (await readdir(dataDir)).filter((name) => name.startsWith('.lock-'));
    const dead = join(dataDir, `.lock-${'0'.repeat(16)}`);
    const listens = 'require("node:net").createServer().listen(process.argv[1], () => process.kill(process.pid, 9))';
    // Within the folder, because the whole path is too long.
    spawnSync(process.execPath, ['-e', listens, basename(dead)], { cwd: dataDir });
    expect(await locks()).toEqual([basename(dead)]);
    const database = await start();
    expect(await locks()).toEqual([expect.not.stringMatching(basename(dead))]);
    await database.stop();
    expect(await locks()).toEqual([]);
  });

  it('does not stop a start by what a power cut has made of it', async () => {
    const folder = join(dataDir, 'postgres');
    await (await startEmbedded({ dataDir, log })).stop();
    const { uid, gid } = await stat(folder);
    // PostgreSQL takes a living process of its own user for the server.
    const other = spawn('sleep', ['600'], { uid, gid });
    children.push(other);
    for (const text of ['', '\n', '\0'.repeat(60), 'no pid', `${other.pid}\n`]) {
      const file = join(folder, 'postmaster.pid');
      await writeFile(file, text);
      await chown(file, uid, gid);
      const database = await start();
      expect(await ask(database.url, 'select 1'), JSON.stringify(text)).toBe(1);
      await database.stop();
    }
  });
});

describe.skipIf(hasGivenServer)('the start of an embedded PostgreSQL', () => {
  it('follows no variable of the shell that asks for TLS', async () => {
    vi.stubEnv('PGSSLMODE', 'require');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { url } = await start();
    expect(await ask(url, 'select 1')).toBe(1);
  });

  it.skipIf(process.platform === 'win32')('leaves no server when its process ends at once', async () => {
    const built = new URL('src/db/embedded/server.js', pathToFileURL(builtService())).href;
    const script = `
      import { startEmbedded } from ${JSON.stringify(built)};
      await startEmbedded({ dataDir: process.argv[1], log: { info() {}, warn() {} } });
      process.exit(1);`;
    expect(spawnSync(process.execPath, ['--input-type=module', '-e', script, dataDir]).status).toBe(1);
    const isGone = async () => !(await readdir(join(dataDir, 'postgres'))).includes('postmaster.pid');
    await waitFor(isGone, { message: 'the server to stop' });
  });

  it.skipIf(process.platform !== 'linux').each(['SIGQUIT', 'SIGTERM'] as const)(
    'leaves no server when %s ends its process while the server starts',
    async (signal) => {
      await (await startEmbedded({ dataDir, log })).stop();
      const folder = join(dataDir, 'postgres');
      const { uid, gid } = await stat(folder);
      // The server waits for the end of this file before it does anything.
      const settings = join(folder, 'local.conf');
      spawnSync('mkfifo', [settings]);
      await chown(settings, uid, gid);
      onTestFinished(() => rm(settings, { force: true }));
      const built = new URL('src/db/embedded/server.js', pathToFileURL(builtService())).href;
      // The service does so when its start takes longer than 10 s.
      const script = `
        import { startEmbedded } from ${JSON.stringify(built)};
        process.on('SIGTERM', () => process.exit(1));
        await startEmbedded({ dataDir: process.argv[1], log: { info() {}, warn() {} } });`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, dataDir], { stdio: 'inherit' });
      children.push(child);
      const ended = new Promise((resolve) => child.once('exit', (code, by) => resolve(by ?? code)));
      const writeOnly = constants.O_WRONLY | constants.O_NONBLOCK;
      const held = await waitFor(() => open(settings, writeOnly).catch(() => null), { message: 'the server to start' });
      const server = (await serverOf(folder)) ?? 0;
      expect(server).toBeGreaterThan(0);
      onTestFinished(() => void (isAlive(server) && process.kill(server, 'SIGKILL')));
      child.kill(signal);
      expect(await ended).toBe(signal === 'SIGTERM' ? 1 : signal);
      // It reads them once more.
      await rm(settings);
      await held.close();
      await waitFor(async () => (await serverOf(folder)) === undefined, { message: 'the server to stop' });
    },
  );

  it('is refused for a path that a shell would read', async () => {
    for (const sign of ['"', '$', '`']) {
      const start = startEmbedded({ dataDir: join(dataDir, `a${sign}b`), log });
      await expect(start).rejects.toThrow(`its path has the character ${JSON.stringify(sign)}`);
    }
    expect(await readdir(dataDir)).not.toContain('a$b');
  });

  it('is refused for a link to a folder whose path a shell would read', async () => {
    const folder = join(dataDir, 'a$(touch by-shell)');
    await mkdir(folder);
    const link = join(dataDir, 'link');
    await symlink(folder, link);
    onTestFinished(() => Promise.all([rm(link), rm(folder, { recursive: true })]).then(() => undefined));
    const start = startEmbedded({ dataDir: link, log }).then((database) => running.push(database));
    await expect(start).rejects.toThrow('its path has the character "$"');
    expect(await readdir(folder)).toEqual([]);
  });

  it('uses a copy of programs whose path a shell would read', async () => {
    const installed = join(dataDir, 'in$talled/native');
    await mkdir(join(installed, 'bin'), { recursive: true });
    onTestFinished(() => rm(join(dataDir, 'in$talled'), { recursive: true }));
    await writeFile(join(installed, '../package.json'), '{"version":"1.2.3"}');
    const copy = join(dataDir, 'postgresql-1.2.3');
    onTestFinished(() => rm(copy, { recursive: true }));
    expect(await usableBinaries(installed, dataDir, null)).toBe(copy);
    expect(await readdir(copy)).toEqual(['bin']);
  });

  it('shows the words of pg_ctl and of the server when it fails', async () => {
    await (await startEmbedded({ dataDir, log })).stop();
    const settings = join(dataDir, 'postgres/local.conf');
    onTestFinished(() => rm(settings, { force: true }));
    await writeFile(settings, 'no_such_setting = 1');
    await chmod(settings, 0o644);
    const both = /did not start: .*could not start server[\s\S]*The last lines of [\s\S]*no_such_setting/;
    await expect(startEmbedded({ dataDir, log })).rejects.toThrow(both);
  });

  it('leaves no server when it fails', async () => {
    await (await startEmbedded({ dataDir, log })).stop();
    const folder = join(dataDir, 'postgres');
    const { uid, gid } = await stat(folder);
    const settings = {
      'local.conf': `hba_file = '${folder}/refusing.conf'`,
      'refusing.conf': 'host all all all reject',
    };
    onTestFinished(async () => {
      for (const name of Object.keys(settings)) await rm(join(folder, name), { force: true });
    });
    for (const [name, text] of Object.entries(settings)) {
      await writeFile(join(folder, name), text);
      await chown(join(folder, name), uid, gid);
    }
    await expect(startEmbedded({ dataDir, log })).rejects.toThrow(/pg_hba.conf rejects connection/);
    expect((await readdir(folder)).filter((name) => /^postmaster.pid$|PGSQL/.test(name))).toEqual([]);
  });
});

describe.skipIf(hasGivenServer || !mayUnshare)(
  'embedded PostgreSQL in several containers (skipped where `unshare` is not permitted)',
  () => {
    it('refuses a service and a command of another container, and goes on', async () => {
      const { url } = await start();
      await ask(url, 'create table kept as select 42 as answer');
      const before = await lockFile();
      const by = new RegExp(`is in use by another Jobferry \\(process ${process.pid} of another container\\): stop it`);
      for (const expression of ['startEmbedded(options)', 'joinEmbedded({ ...options, mayCreate: false })']) {
        expect(await inContainer(expression, { network: true }).next()).toMatch(by);
      }
      expect(await lockFile()).toBe(before);
      expect(await ask(url, 'select answer from kept')).toBe(42);
    });

    it('joins the server of a container that shares its network', async () => {
      const { url } = await start();
      const command = inContainer('joinEmbedded({ ...options, mayCreate: false })', { network: false });
      expect(await command.next()).toBe(`started ${url}`);
    });

    it('starts none beside the server that a killed process of another container has left', async () => {
      const shell = '"$@" & read _; kill -9 $!; wait $!; echo killed; read _';
      const left = inContainer('startEmbedded(options)', { network: false, shell });
      expect(await left.next()).toMatch(/^started /);
      left.child.stdin.write('kill\n');
      expect(await left.next()).toBe('killed');
      const file = await lockFile();
      await expect(startEmbedded({ dataDir, log })).rejects.toThrow('most likely in another container');
      expect(await lockFile()).toBe(file);
    });
  },
);
