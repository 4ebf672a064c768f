import { readFile, readlink } from 'node:fs/promises';

/** Whether the process runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether the pid still belongs to the PostgreSQL server of a folder: in another container it is that of any process.
 * Returns true where that cannot be found out.
 */
export async function isServerOf(folder: string, pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  // A server works in the folder of its data.
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => folder);
  return command.trim() === 'postgres' && place === folder;
}
