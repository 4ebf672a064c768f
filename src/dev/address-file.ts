import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from '../db/embedded/server-process.ts';

/** The file with the address of the service that has its data in a folder, beside that of its key. */
const FILE = 'url';

/** With the process, because one that is killed leaves the file. */
export async function rememberAddress(folder: string, url: string): Promise<void> {
  await writeFile(join(folder, FILE), `${url}\n${process.pid}\n`);
}

export async function forgetAddress(folder: string): Promise<void> {
  await rm(join(folder, FILE), { force: true });
}

/** @returns null if no service runs there: its key must not go to whatever listens at its address now */
export async function addressOf(folder: string): Promise<string | null> {
  const text = await readFile(join(folder, FILE), 'utf8').catch(() => '');
  const [url = '', pid = ''] = text.split('\n');
  return url !== '' && isAlive(Number(pid)) ? url.replace(/\/+$/, '') : null;
}
