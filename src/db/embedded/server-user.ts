import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** The user that runs the server; null for the user that runs Jobferry. */
export type ServerUser = { uid: number; gid: number } | null;

/** The conventional account. It is created if it does not exist. */
const ACCOUNT = 'postgres';

/**
 * PostgreSQL refuses to run as root, and containers often run everything as root. In that case the server runs as the owner
 * of its data, or as `postgres`.
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
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return (await lookUp()) ?? (await create());
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

/** Runs a program as the server's user, in a working directory that every user can enter. */
export async function runAs(user: ServerUser, program: string, args: string[]): Promise<string> {
  const { stdout } = await execute(program, args, {
    ...(user === null ? {} : { ...user, cwd: '/' }),
    encoding: 'utf8',
  });
  return stdout;
}

/** Whether the user can enter the folder and all its parents. */
export async function canEnter(user: ServerUser, folder: string): Promise<boolean> {
  if (user === null) return true;
  return runAs(user, '/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder]).then(
    () => true,
    () => false,
  );
}
