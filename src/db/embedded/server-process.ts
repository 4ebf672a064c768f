import { readFile, readlink, stat } from 'node:fs/promises';

/** Whether the process runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether the pid still belongs to the PostgreSQL server of a folder: in another container it is that of any process,
 * and after a crash it may be that of another server. Returns true where that cannot be found out.
 */
export async function isServerOf(folder: string, pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  if (command.trim() !== 'postgres') return false;
  // A server works in the folder of its data.
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => null);
  return place === null ? isOwnedAlike(`/proc/${pid}`, folder) : place === folder;
}

/** A server runs as the owner of its folder. The places of other users' processes cannot be read. */
async function isOwnedAlike(one: string, other: string): Promise<boolean> {
  const [owner, second] = await Promise.all([ownerOf(one), ownerOf(other)]);
  return owner === second;
}

function ownerOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ uid }) => uid,
    () => null,
  );
}
