import { readFile } from 'node:fs/promises';

/** Whether the process runs. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the pid still belongs to a PostgreSQL server. Returns true where that cannot be found out. */
export async function isPostgres(pid: number): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  return readFile(`/proc/${pid}/comm`, 'utf8').then(
    (command) => command.trim() === 'postgres',
    () => false,
  );
}
