import { open, rm, writeFile } from 'node:fs/promises';
import { hostname, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parsedUrl } from '../../domain/parsed-url.ts';

/** The file with the address of the service that has its data in a folder, beside that of its key. */
const FILE = 'url';

/** With the process, because one that is killed leaves the file. */
export async function rememberAddress(folder: string, url: string): Promise<void> {
  await writeFile(join(folder, FILE), `${url}\n${process.pid}\n`);
}

export async function forgetAddress(folder: string): Promise<void> {
  await rm(join(folder, FILE), { force: true });
}

/**
 * @returns null if no service runs there: its key must not go to whatever listens at its address now. A folder that
 * came with a repository must not name a host that gets what is published, so the file must belong to this user, or to
 * root, and the address to this machine.
 */
export async function addressOf(folder: string): Promise<string | null> {
  const text = await readOwn(join(folder, FILE)).catch(() => '');
  const [url = '', pid = ''] = text.split('\n');
  return isOfThisMachine(url) && isOwn(Number(pid)) ? url.replace(/\/+$/, '') : null;
}

async function readOwn(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { uid } = await file.stat();
    return [0, process.getuid?.() ?? uid].includes(uid) ? await file.readFile('utf8') : '';
  } finally {
    await file.close();
  }
}

function isOfThisMachine(url: string): boolean {
  const addresses = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
  const own = ['localhost', hostname().toLowerCase(), ...addresses.map(({ address }) => address)];
  const host = parsedUrl(url)?.hostname.replace(/^\[|\]$/g, '') ?? '';
  return /^127(?:\.\d+){3}$/.test(host) || own.includes(host);
}

/** Whether a process of this user has the pid. */
function isOwn(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
