import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { builtService } from './built.ts';
import { atEndOfFile } from './end-of-file.ts';
import { isReady } from './status.ts';
import { waitFor } from './wait-for.ts';

export interface JobferryOptions {
  /** Without it the process runs its embedded database; set `DATA_DIR` then. */
  databaseUrl?: string;
  role?: 'all' | 'api' | 'worker';
  env?: Record<string, string>;
  /** Milliseconds until it must be ready. */
  readyWithinMs?: number;
  /** `dist/main.js` of another build. */
  main?: string;
  /** Options of Node. */
  node?: readonly string[];
}

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A service that runs: a process, or inside the process of the test. */
export interface Running {
  baseUrl: string;
  /** Log lines so far. */
  logs: LogLine[];
  /** Ends it as SIGTERM does, and waits until it has ended. */
  stop(): Promise<unknown>;
}

/** The service as a real process: what is killed here is what an operator would kill. */
export interface Jobferry extends Running {
  pid: number;
  /** Everything else so far: stdout, and what is not JSON on stderr. */
  output: string[];
  exited: Promise<Exit>;
  /** Sends the signal, and waits until the process is gone. */
  kill(signal?: NodeJS.Signals): Promise<Exit>;
}

/**
 * On a busy machine a test takes longer than the usual 15 s for what it does during a delivery that it holds back: only
 * tests of the time limit itself have one that is short.
 */
export const PATIENT_ENV = { WEBHOOK_TIMEOUT_SECONDS: '60' };

/** Only ends tests that fail anyway: the longest stop of the service takes 30 s. */
const STOP_WITHIN_MS = 60_000;

/** Starts `dist/main.js serve` on a free port, and waits until it is ready. */
export async function startJobferry(options: JobferryOptions = {}): Promise<Jobferry> {
  const jobferry = spawnJobferry(options);
  try {
    await Promise.race([
      becomesReady(jobferry, options.readyWithinMs ?? 60_000),
      jobferry.exited.then(({ code, signal }) => {
        throw new Error(`the process ended early (code ${code}, signal ${signal})`);
      }),
    ]);
  } catch (error) {
    await jobferry.kill('SIGKILL');
    throw new Error(`jobferry did not become ready: ${String(error)}\n${said(jobferry)}`, { cause: error });
  }
  return jobferry;
}

function spawnJobferry(options: JobferryOptions): Jobferry {
  const { databaseUrl, role = 'all', env = {}, main = builtService(), node = [] } = options;
  const child = spawn(process.execPath, [...node, main, 'serve', '--role', role], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Nothing of the developer's own settings.
    env: {
      PATH: process.env.PATH,
      HOST: '127.0.0.1',
      PORT: '0',
      ...PATIENT_ENV,
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
      ...env,
    },
  });
  const logs: LogLine[] = [];
  const output: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => output.push(line));
  createInterface({ input: child.stderr }).on('line', (line) => {
    const parsed = parseLine(line);
    if (parsed === null) output.push(line);
    else logs.push(parsed);
  });
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const jobferry: Jobferry = {
    baseUrl: '',
    pid: child.pid ?? 0,
    logs,
    output,
    exited,
    stop: () => jobferry.kill('SIGTERM'),
    kill: async (signal = 'SIGTERM') => {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      const exit = await exited.finally(() => clearTimeout(timer));
      if (exit.signal === 'SIGKILL' && signal !== 'SIGKILL')
        throw new Error(`jobferry did not stop:\n${said(jobferry)}`);
      return exit;
    },
  };
  const hasEnded = atEndOfFile(() => jobferry.kill('SIGKILL'));
  void exited.finally(hasEnded).catch(() => undefined);
  return jobferry;
}

/** Everything that the process has printed so far. */
function said({ logs, output }: Jobferry): string {
  return [...logs.map((line) => JSON.stringify(line)), ...output].join('\n');
}

async function becomesReady(jobferry: Jobferry, timeoutMs: number): Promise<void> {
  const listening = await waitFor(() => jobferry.logs.find((line) => line.msg === 'listening'), {
    timeoutMs,
    message: 'the line "listening"',
  });
  jobferry.baseUrl = String(listening.url);
  await waitFor(() => isReady(jobferry.baseUrl), { timeoutMs, message: '/readyz' });
}

function parseLine(line: string): LogLine | null {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null && 'msg' in parsed ? (parsed as LogLine) : null;
  } catch {
    return null;
  }
}
