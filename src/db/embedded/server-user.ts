import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { atExit } from './at-exit.ts';

const execute = promisify(execFile);

/** The user that runs the server; null for the user that runs Jobferry. */
export type ServerUser = { uid: number; gid: number } | null;

/** The conventional account. It is created if it does not exist. */
const ACCOUNT = 'postgres';

/**
 * PostgreSQL refuses to run as root, and containers often run everything as root. In that case the server runs as the
 * owner of its data, of the folder around it, or as `postgres`.
 */
export async function chooseServerUser(cluster: string): Promise<ServerUser> {
  const ownUid = process.getuid?.();
  const owner = await stat(cluster).catch(() => null);
  if (ownUid !== 0) {
    if (ownUid !== undefined && owner !== null && owner.uid !== ownUid) {
      throw new Error(`${cluster} belongs to user ${owner.uid}: start Jobferry as that user or as root`);
    }
    return null;
  }
  const { uid, gid } = owner ?? (await stat(dirname(cluster)));
  return uid === 0 ? ((await lookUp()) ?? (await create())) : { uid, gid };
}

async function lookUp(): Promise<ServerUser> {
  try {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((what) => execute('id', [what, ACCOUNT])));
    return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
  } catch {
    return null;
  }
}

async function create(): Promise<ServerUser> {
  try {
    await execute('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/bin/false', ACCOUNT]);
  } catch (error) {
    const made = await lookUp(); // another process may have created it
    if (made !== null) return made;
    throw new Error(
      `PostgreSQL refuses to run as root, and the account "${ACCOUNT}" cannot be created: ` +
        'start Jobferry as an ordinary user, or set DATABASE_URL',
      { cause: error },
    );
  }
  return lookUp();
}

/** The variables of the programs of another user, who can read them: the others may be secrets. */
const PASSED_ON = ['PATH', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH'];

/** Runs a program as the server's user, in a working directory that every user can enter. @param input for its stdin */
export async function runAs(user: ServerUser, program: string, args: string[], input = ''): Promise<string> {
  return (await begin(user, program, args, input)).stdout;
}

/**
 * Interrupts the program if this process ends at once: then `pg_ctl start` stops the server,
 * and initdb removes its files.
 */
export async function runProgram(user: ServerUser, program: string, args: string[]): Promise<void> {
  const running = begin(user, program, args, '');
  const forget = atExit(() => running.child.kill('SIGINT'));
  await running.finally(forget);
}

function begin(user: ServerUser, program: string, args: string[], input: string) {
  const running = execute(program, args, {
    ...(user === null ? {} : { ...user, cwd: '/', env: passedOn() }),
    encoding: 'utf8',
  });
  // A program that ends without reading its input fails by its exit code.
  running.child.stdin?.on('error', () => undefined).end(input);
  return running;
}

function passedOn(): NodeJS.ProcessEnv {
  return Object.fromEntries(PASSED_ON.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])));
}

/** Whether the user can enter the folder and all its parents. */
export async function canEnter(user: ServerUser, folder: string): Promise<boolean> {
  if (user === null) return true;
  return runAs(user, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder]).then(
    () => true,
    () => false,
  );
}
