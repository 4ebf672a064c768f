import type { ChildProcess } from 'node:child_process';
import { type PrintedAttempt, SeenAttempts, type Watched } from './seen-attempts.ts';

export type { SeenAttempt } from './seen-attempts.ts';

// Not by imports: bundlers for other runtimes, which use the rest of this package, would look for them.
const { spawn } = process.getBuiltinModule('node:child_process');
const { createHash, randomBytes } = process.getBuiltinModule('node:crypto');
const { cp, lstat, mkdir, readdir, rename, rm, stat } = process.getBuiltinModule('node:fs/promises');
const { createRequire } = process.getBuiltinModule('node:module');
const { tmpdir } = process.getBuiltinModule('node:os');
const { join } = process.getBuiltinModule('node:path');
const { createInterface } = process.getBuiltinModule('node:readline');

interface ServerOptions {
  command: readonly string[] | undefined;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
}

/** An account for one test file. */
export interface TestAccount {
  /** Its key, with every right. */
  apiKey: string;
  /** Its id. */
  accountId: string;
}

/** A process `jobferry dev` that ends with this process. */
export interface TestServer {
  /** Address of the service. */
  url: string;
  /** False once the process has ended. */
  isRunning(): boolean;
  /** Creates an account, and suspends the one before. */
  nextAccount(): Promise<TestAccount>;
  /** Returns the attempts of an account that end from now on. */
  watch(accountId: string): Watched;
  /** Ends the process; resolves when its data is deleted. */
  stop(): Promise<void>;
}

interface Line {
  type: string;
  url?: string;
  apiKey?: string;
  accountId?: string;
  message?: string;
}

/** Time for a server that was given up to stop its database, in milliseconds. */
const STOP_MS = 10_000;
/** Characters of a failed start's output that an error shows. */
const OUTPUT = 2000;

/** Starts a server with a copy of a database that was created before, because creating one takes longer. */
export async function startTestServer({ command, env, timeoutMs }: ServerOptions): Promise<TestServer> {
  const program = command ?? ownCommand();
  const home = await openHome(program);
  await removeLeft(home);
  const template = join(home, 'template');
  if (!(await exists(template))) await createTemplate(template, program, timeoutMs);
  const folder = join(home, `run-${process.pid}-${unique()}`);
  // As root, the database may be elsewhere, and a link to it is no copy.
  const isWhole = (await lstat(join(template, 'postgres'))).isDirectory();
  if (isWhole) await copy(template, folder);
  return run(program, { folder, env, timeoutMs, isDiscarded: true });
}

/** Test frameworks may load this module several times in one process. */
function unique(): string {
  return randomBytes(6).toString('hex');
}

function ownCommand(): string[] {
  try {
    const manifest = createRequire(join(process.cwd(), 'package.json')).resolve('jobferry/package.json');
    return [process.execPath, join(manifest, '../dist/main.js')];
  } catch (error) {
    throw new Error(
      'startJobferry needs the package jobferry: install it beside @jobferry/client, or give `command` the program that runs it',
      { cause: error },
    );
  }
}

/** A folder for the databases of one build of Jobferry. Only its owner can change it. */
async function openHome(program: readonly string[]): Promise<string> {
  const main = await stat(program.at(-1) ?? '').catch(() => null);
  const build = createHash('sha256')
    .update(`${program.join(' ')} ${main?.mtimeMs}`)
    .digest('hex')
    .slice(0, 12);
  const own = join(tmpdir(), `jobferry-testing-${process.getuid?.() ?? 'user'}`);
  // PostgreSQL, which root runs as another user, has to pass through.
  await mkdir(own, { recursive: true, mode: 0o711 });
  const found = await lstat(own);
  const isOwn = process.getuid === undefined || found.uid === process.getuid();
  if (!isOwn || !found.isDirectory()) throw new Error(`${own} is not a folder of this user: remove it`);
  const home = join(own, build);
  await mkdir(home, { recursive: true, mode: 0o711 });
  await removeOld(own, home);
  return home;
}

/** Databases of builds that no test has started for this long are removed. */
const OLD_MS = 7 * 86_400_000;

async function removeOld(own: string, home: string): Promise<void> {
  for (const name of await readdir(own)) {
    if (!/^[0-9a-f]{12}$/.test(name)) continue;
    const folder = join(own, name);
    const usedAt = await stat(folder).then(({ mtimeMs }) => mtimeMs, Date.now);
    if (folder !== home && Date.now() - usedAt > OLD_MS) await rm(folder, { recursive: true, force: true });
  }
}

/** Removes the databases of processes that were killed. */
async function removeLeft(home: string): Promise<void> {
  for (const name of await readdir(home)) {
    const pid = Number(/^(?:run|template)-(\d+)/.exec(name)?.[1] ?? process.pid);
    if (!isAlive(pid)) await rm(join(home, name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function createTemplate(template: string, program: readonly string[], timeoutMs: number): Promise<void> {
  const folder = `${template}-${process.pid}-${unique()}`;
  const server = await run(program, { folder, env: {}, timeoutMs, isDiscarded: false });
  await server.stop();
  // Another process may have been faster.
  await rename(folder, template).catch(() => rm(folder, { recursive: true, force: true }));
}

async function copy(from: string, to: string): Promise<void> {
  if (process.platform === 'win32') return cp(from, to, { recursive: true });
  // As root, the files belong to the user that runs PostgreSQL, and must stay theirs.
  await ended(spawn('cp', ['-a', from, to], { stdio: 'ignore' }), 'cp');
}

function ended(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`${name} ended with ${code}`))));
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

interface RunOptions extends Omit<ServerOptions, 'command'> {
  folder: string;
  /** Whether the server deletes its data at its end. */
  isDiscarded: boolean;
}

async function run([program = '', ...args]: readonly string[], options: RunOptions): Promise<TestServer> {
  const { folder, env, timeoutMs, isDiscarded } = options;
  const flags = ['--json', '--attached', '--data', folder, ...(isDiscarded ? ['--discard'] : [])];
  const child = spawn(program, [...args, 'dev', ...flags], {
    env: { PATH: process.env.PATH, JOBFERRY_PORT: '0', ...env, ...ofService(env) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (bytes) => {
    output = `${output}${bytes}`.slice(-OUTPUT);
  });
  child.stdin.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const attempts = new SeenAttempts();
  const answers: ((line: Line) => void)[] = [];
  let isRunning = true;
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = read(text);
    if (line === null) return;
    if (line.type === 'attempt') attempts.add(line as unknown as PrintedAttempt);
    else if (['ready', 'account', 'error'].includes(line.type)) answers.shift()?.(line);
  });
  const answer = async (): Promise<Line> => {
    let timer: NodeJS.Timeout | undefined;
    const line = await Promise.race([
      new Promise<Line>((resolve) => answers.push(resolve)),
      closed.then(() => failed(`ended: ${output}`)),
      new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new Error(`jobferry did not answer within ${timeoutMs} ms: ${output}`)),
          timeoutMs,
        );
      }),
    ]).finally(() => clearTimeout(timer));
    if (line.type === 'error') failed(line.message ?? '');
    return line;
  };
  child.on('error', (error) => {
    output = error.message;
  });
  void closed.then(() => {
    isRunning = false;
  });
  try {
    const { url = '' } = await answer();
    // The process of the tests may end although the server runs: it ends with its standard input.
    child.unref();
    for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as { unref(): void }).unref();
    return {
      url,
      isRunning: () => isRunning,
      nextAccount: async () => {
        child.stdin.write('next account\n');
        const { apiKey = '', accountId = '' } = await answer();
        return { apiKey, accountId };
      },
      watch: (accountId) => attempts.watch(accountId),
      stop: async () => {
        child.stdin.end();
        child.ref();
        await closed;
      },
    };
  } catch (error) {
    // It stops its database when its standard input ends.
    child.stdin.end();
    setTimeout(() => child.kill('SIGKILL'), STOP_MS).unref();
    throw error;
  }
}

/** `jobferry dev` takes a variable without JOBFERRY_ for one of an application. */
function ofService(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`JOBFERRY_${name}`, value]));
}

/** @returns null for a line of another program, such as the one that runs Jobferry */
function read(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}

function failed(what: string): never {
  throw new Error(`jobferry ${what}`);
}
