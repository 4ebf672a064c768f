import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { checkOut, pack } from '../../test/support/checkout.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** Projects of users: a folder with a package.json, whose packages come from the registry and from a packed tarball. */

const run = promisify(execFile);
const PROGRAMS = fileURLToPath(new URL('projects', import.meta.url));

let folder: string | null = null;
/** A copy of the repository as git has it, so that nothing is packed that only an earlier build has left. */
let checkedOut: Promise<string> | null = null;
const packed = new Map<string, Promise<string>>();
const children = new Set<ChildProcess>();

afterAll(async () => {
  for (const child of children) stop(child);
  if (folder !== null) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
});

export interface Project {
  path: string;
  /** Runs a program of a package or file of the project with Node, and returns what it prints. */
  node(args: string[], env?: Record<string, string>): Promise<string>;
  /** Starts a server, and resolves with its address when it takes connections. */
  serve(program: string, args: string[], env: Record<string, string>): Promise<string>;
}

/**
 * @param from `packages/client`, or empty for the server
 * @param packages as in `npm install`
 * @param files of `rigs/packages/projects`
 */
export async function createProject(from: string, packages: string[] = [], files: string[] = []): Promise<Project> {
  const tarball = await tarballOf(from);
  const path = await newFolder('project-');
  await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'fresh', private: true }));
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...quiet, tarball, ...packages], { cwd: path, maxBuffer: 2 ** 24 });
  for (const file of files) await cp(join(PROGRAMS, file), join(path, file), { recursive: true });
  return {
    path,
    node: async (args, env = {}) => (await run(process.execPath, args, { cwd: path, env: environment(env) })).stdout,
    serve: (program, args, env) => serve(path, program, args, env),
  };
}

/** A folder for the test file. */
export async function newFolder(prefix: string): Promise<string> {
  folder ??= await mkdtemp(join(tmpdir(), 'jobferry-projects-'));
  return await mkdtemp(join(folder, prefix));
}

/** @param from as above */
export async function tarballOf(from: string): Promise<string> {
  checkedOut ??= newFolder('checkout-').then((parent) => checkOutInto(join(parent, 'jobferry')));
  const tarball =
    packed.get(from) ?? checkedOut.then(async (path) => pack(join(path, from), await newFolder('packed-')));
  packed.set(from, tarball);
  return await tarball;
}

async function checkOutInto(path: string): Promise<string> {
  await checkOut(path);
  return path;
}

/** Nothing of the developer's own settings. */
export function environment(env: Record<string, string>): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env };
}

async function serve(cwd: string, program: string, args: string[], env: Record<string, string>): Promise<string> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const filled = args.map((arg) => arg.replace('PORT', String(port)));
  const output: string[] = [];
  // In a group of its own, so that the processes that it starts end with it.
  const child = spawn(program, filled, { cwd, env: environment({ PORT: String(port), ...env }), detached: true });
  children.add(child);
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(String(chunk)));
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error(`${program} ${filled.join(' ')} ended early:\n${output.join('')}`)));
  });
  const isUp = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await Promise.race([waitFor(isUp, { message: `${program} to take connections`, timeoutMs: 60_000 }), ended]);
  // From here on the test itself ends it.
  ended.catch(() => undefined);
  return url;
}

function stop(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null) return;
  process.kill(-child.pid, 'SIGKILL');
}

/** Writes a file of this text into the project. */
export async function write(project: Project, file: string, text: string): Promise<void> {
  await mkdir(join(project.path, file, '..'), { recursive: true });
  await writeFile(join(project.path, file), text);
}
