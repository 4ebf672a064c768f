import { type ChildProcess, execFile, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { builtService } from '../support/built.ts';
import { waitFor } from '../support/wait-for.ts';

/** `npm run build` beside what runs: `scripts/builds.mjs`, mostly with a build that only copies two files. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Loads its other module when it gets a line. */
const MAIN = `process.stdin.once('data', async () => console.log((await import('./late.mjs')).text));\nconsole.log('up');\n`;
const BUILD = `
import { appendFileSync, cpSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureBuilt, hashOf, unlink } from ${JSON.stringify(new URL('../../scripts/builds.mjs', import.meta.url).href)};
await ensureBuilt('.', () => hashOf('.', ['src']), async (folder) => {
  appendFileSync('made', 'x');
  cpSync('src', folder + '/dist', { recursive: true });
  while (existsSync('wait')) await sleep(10);
  if (existsSync('fail')) process.exit(1);
});
if (process.argv.includes('--real')) unlink('.', (from, to) => cpSync(from, to, { recursive: true }));
`;

let root: string;
const at = (path: string) => join(root, path);
const build = (...options: string[]) => run(process.execPath, ['build.mjs', ...options], { cwd: root });
const edit = (text: string) => writeFileSync(at('src/late.mjs'), `export const text = '${text}';\n`);
const timesBuilt = () => readFileSync(at('made'), 'utf8').length;
const current = () => basename(join(realpathSync(at('dist')), '..'));

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'jobferry-building-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(at('src'));
  await writeFile(at('build.mjs'), BUILD);
  await writeFile(at('src/main.mjs'), MAIN);
  edit('first');
});

function start(): ChildProcess {
  const started = spawn(process.execPath, ['dist/main.mjs'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void started.kill());
  return started;
}

const lineOf = (started: ChildProcess) =>
  new Promise<string>((resolve) => started.stdout?.once('data', (data) => resolve(String(data).trim())));

/** @returns what the process says when it loads its other module */
async function lateOf(started: ChildProcess): Promise<string> {
  started.stdin?.write('\n');
  return await lineOf(started);
}

/** Each path with the time of its last change. */
function snapshot(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return paths.map((path) => `${path} ${statSync(join(folder, path)).mtimeMs}`).sort();
}

describe('a build', () => {
  it('leaves a process what it has started with', async () => {
    await build();
    const before = start();
    expect(await lineOf(before)).toBe('up');
    edit('second');
    await build();
    expect(await lateOf(before)).toBe('first');
    const after = start();
    expect(await lineOf(after)).toBe('up');
    expect(await lateOf(after)).toBe('second');
  });

  it('writes nothing if nothing has changed, and makes nothing twice', async () => {
    await build();
    const before = snapshot(root);
    await build();
    expect(snapshot(root)).toEqual(before);
    const first = current();
    edit('second');
    await build();
    edit('first');
    await build();
    expect([current(), timesBuilt()]).toEqual([first, 2]);
  });

  it('is made once by two commands at the same time', async () => {
    await Promise.all([build(), build(), build()]);
    expect(timesBuilt()).toBe(1);
    expect(readdirSync(at('.builds'))).toEqual([current()]);
  });

  it('is made again if a source was saved meanwhile', async () => {
    await writeFile(at('wait'), '');
    const building = build();
    await waitFor(() => existsSync(at('made')), { message: 'the build to begin' });
    edit('second');
    await rm(at('wait'));
    await building;
    expect(timesBuilt()).toBe(2);
    const started = start();
    await lineOf(started);
    expect(await lateOf(started)).toBe('second');
  });

  it('a build that fails leaves the one before, and keeps no other waiting', async () => {
    await build();
    const before = current();
    edit('second');
    await writeFile(at('fail'), '');
    await expect(build()).rejects.toThrow();
    expect(current()).toBe(before);
    await rm(at('fail'));
    await build();
    expect(current()).not.toBe(before);
  });

  it('takes the place of a folder, and gives it to one where links do not help', async () => {
    await mkdir(at('dist'));
    await writeFile(at('dist/main.mjs'), 'of an earlier version');
    await build('--real');
    expect(realpathSync(at('dist'))).toBe(join(realpathSync(root), 'dist'));
    expect(readFileSync(at('dist/main.mjs'), 'utf8')).toBe(MAIN);
    await build();
    expect(realpathSync(at('dist'))).not.toBe(join(realpathSync(root), 'dist'));
    expect(timesBuilt()).toBe(1);
  });

  it('removes old ones, but none that a process runs from', async () => {
    const builds: string[] = [];
    for (let n = 0; n < 6; n++) {
      edit(`build ${n}`);
      await build();
      builds.push(current());
    }
    for (const [n, name] of builds.entries()) {
      const hours = new Date(Date.now() - (10 - n) * 3_600_000);
      utimesSync(at(`.builds/${name}`), hours, hours);
    }
    const [ended, running] = builds;
    writeFileSync(at(`.builds/${running}/running/${process.pid}`), '');
    const { pid } = spawn(process.execPath, ['--version'], { stdio: 'ignore' }).once('exit', () => undefined);
    writeFileSync(at(`.builds/${ended}/running/${pid}`), '');
    mkdirSync(at('.builds/making-interrupted'));
    utimesSync(at('.builds/making-interrupted'), 0, 0);
    edit('the last');
    await waitFor(() => !isAlive(pid), { message: 'the process to end' });
    await build();
    expect(readdirSync(at('.builds')).sort()).toEqual([running, ...builds.slice(-2), current()].sort());
  });
});

function isAlive(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
}

describe('the build of this repository', () => {
  it('is not made again without a change', async () => {
    const script = join(ROOT, 'scripts/build.mjs');
    const built = realpathSync(join(builtService(), '..'));
    const before = snapshot(built);
    expect((await run(process.execPath, [script])).stdout).toBe('');
    expect(realpathSync(join(ROOT, 'dist'))).toBe(built);
    expect(snapshot(built)).toEqual(before);
  });

  it.skipIf(process.platform === 'win32')('can be run as a program', async () => {
    const main = realpathSync(builtService());
    expect(statSync(main).mode & 0o111).toBe(0o111);
    expect((await run(main, ['--version'])).stdout).toMatch(/^jobferry \d/);
  });

  it('knows its processes while they run', async () => {
    const main = realpathSync(builtService());
    const code = `await import(${JSON.stringify(main)});
      const { readdirSync } = await import('node:fs');
      console.log(readdirSync(${JSON.stringify(join(main, '../../running'))}).includes(String(process.pid)), process.pid);`;
    const node = ['--input-type=module', '-e', code, 'main', '--version'];
    const [, pid] = /^true (\d+)$/m.exec((await run(process.execPath, node)).stdout) ?? [];
    expect(pid).toBeDefined();
    expect(existsSync(join(main, '../../running', String(pid)))).toBe(false);
  });
});
