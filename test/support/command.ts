import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { builtService } from './built.ts';

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Only ends tests that fail anyway: a command that should have ended and did not. Under a load of 15, the first
 * `migrate` takes longer than half a minute, and killed it would leave its database running.
 */
const GIVE_UP_MS = 120_000;

/**
 * Runs `jobferry <args>` to its end, with nothing of the developer's own settings.
 * @param main `dist/main.js` of another build
 */
export function runJobferry(
  args: string[],
  env: Record<string, string> = {},
  giveUpMs = GIVE_UP_MS,
  main = builtService(),
): Promise<CommandResult> {
  return beginJobferry(args, env, giveUpMs, main).ended;
}

/** Begins a command that is killed later. */
export function beginJobferry(
  args: string[],
  env: Record<string, string> = {},
  giveUpMs = GIVE_UP_MS,
  main = builtService(),
) {
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', ...env },
    timeout: giveUpMs,
    killSignal: 'SIGKILL',
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const whole = async (): Promise<CommandResult> => {
    const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { code, stdout, stderr };
  };
  return { ended: whole(), kill: (signal: NodeJS.Signals) => child.kill(signal) };
}

/** Runs an admin command, and returns its result. */
export async function runAdmin<Result>(databaseUrl: string, ...args: string[]): Promise<Result> {
  const { code, stdout, stderr } = await runJobferry([...args, '--json'], { DATABASE_URL: databaseUrl });
  if (code !== 0) throw new Error(`jobferry ${args.join(' ')} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as Result;
}
