import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { runAs, type ServerUser } from './server-user.ts';

/**
 * Files in folders that the server's user may write. Started as root, Jobferry must use no path there with its own
 * rights: the user could replace a file or a folder by a symbolic link, and root would read, overwrite or give away the
 * link's target. So that user itself writes, moves and removes, in a child process, and root reads only files of that
 * user.
 */

/** Absent on Windows, where an ordinary user cannot create symbolic links. */
const { O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
/** Largest file that is read as a whole: the files of a server that Jobferry reads have some lines. */
const MAX_BYTES = 64 * 1024;

/**
 * @returns the user that changes a folder's entries: the server's user if it can,
 * else null for the user of this process
 */
export async function writerOf(folder: string, user: ServerUser): Promise<ServerUser> {
  if (user === null) return null;
  return sh(user, '[ -w "$1" ] && [ -x "$1" ]', [folder]).then(
    () => user,
    () => null,
  );
}

/**
 * Reads the end of a file of the server's user, by default of at most 64 KiB.
 * @throws Error if there is none, or if it is a link, no file, or the file of another user
 */
export async function readFileOf(user: ServerUser, path: string, lastBytes = MAX_BYTES): Promise<string> {
  // A link as the last part of the path is refused, and the owner of the opened file shows a link in any other part.
  const file = await open(path, constants.O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw new Error(`${path} is not a file`);
    if (user !== null && found.uid !== user.uid) throw new Error(`${path} belongs to user ${found.uid}`);
    return await readEnd(file, found.size, lastBytes);
  } finally {
    await file.close();
  }
}

async function readEnd(file: FileHandle, size: number, lastBytes: number): Promise<string> {
  const length = Math.min(size, lastBytes);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
  return buffer.toString('utf8', 0, bytesRead);
}

/** Writes a file that only its owner can read, at once: a process that reads it meanwhile gets the former text. */
export async function writeFileAs(user: ServerUser, path: string, text: string): Promise<void> {
  const unfinished = `${path}.new-${randomName()}`;
  if (user !== null) {
    await sh(user, 'umask 077; cat > "$1" && mv -f -- "$1" "$2"', [unfinished, path], text);
    return;
  }
  const file = await open(unfinished, 'wx', 0o600);
  try {
    await file.writeFile(text).finally(() => file.close());
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Creates a folder of the server's user. */
export async function makeFolderAs(writer: ServerUser, owner: ServerUser, path: string): Promise<void> {
  if (writer !== null) {
    await sh(writer, 'mkdir -m 700 -- "$1"', [path]);
    return;
  }
  await mkdir(path, 0o700);
  if (owner !== null) await giveFolder(path, owner);
}

/** Gives a folder that this process has created to the server's user. */
async function giveFolder(path: string, owner: NonNullable<ServerUser>): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | O_NOFOLLOW);
  try {
    if ((await folder.stat()).uid !== process.getuid?.()) throw new Error(`${path} was replaced`);
    await folder.chown(owner.uid, owner.gid);
  } finally {
    await folder.close();
  }
}

/** Renames a folder. If the new name is taken, nothing happens. */
export async function moveFolderAs(writer: ServerUser, from: string, to: string): Promise<void> {
  if (writer !== null) {
    // GNU's and BusyBox's -T: otherwise `mv` would put the folder into one that another process has created meanwhile.
    const move = '[ -e "$2" ] || mv -T -- "$1" "$2" 2>/dev/null || [ -e "$2" ] || mv -- "$1" "$2"';
    await sh(writer, move, [from, to]);
    return;
  }
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST' && error.code !== 'EPERM') throw error;
  });
}

/** Copies a folder that the user can read. If the new name is taken, nothing happens. */
export async function copyFolderAs(writer: NonNullable<ServerUser>, from: string, to: string): Promise<void> {
  const unfinished = `${to}.new-${randomName()}`;
  try {
    await sh(writer, 'cp -RP -- "$1" "$2"', [from, unfinished]);
    await moveFolderAs(writer, unfinished, to);
  } finally {
    await removeFolderAs(writer, unfinished);
  }
}

/** Removes a folder of the server's user, if it is there. */
export async function removeFolderAs(user: ServerUser, path: string): Promise<void> {
  if (user === null) return await rm(path, { recursive: true, force: true });
  // If the folder around it is not the user's, only the empty folder is left.
  await sh(user, 'rm -rf -- "$1"', [path]).catch(() => undefined);
  await rmdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/**
 * @throws Error if a user other than root has replaced the cluster by a link into another user's files, which would
 * then be taken for the data, and their owner for the server's user
 */
export async function assertOwnLink(path: string, target: { uid: number }): Promise<void> {
  const entry = await lstat(path);
  if (entry.isSymbolicLink() && entry.uid !== 0 && entry.uid !== target.uid) {
    throw new Error(`${path} is a link of user ${entry.uid} to files of user ${target.uid}: remove it`);
  }
}

function randomName(): string {
  return randomBytes(6).toString('hex');
}

/** Runs a script with the paths as `$1` and so on. */
function sh(user: ServerUser, script: string, paths: string[], input = ''): Promise<string> {
  return runAs(user, '/bin/sh', ['-c', script, 'sh', ...paths], input);
}

/** Whether an entry of a data directory belongs to the lock of the folder. */
export function isLock(name: string): boolean {
  return /^\.lock-[0-9a-f]{16}(?:\.new)?$/.test(name);
}
