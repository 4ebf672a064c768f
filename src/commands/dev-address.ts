import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { URL_FILE } from '../dev/run.ts';
import { UsageError } from './command.ts';

/** @returns address and key of the `jobferry dev` that runs with its data in the folder. @throws UsageError if none does */
export async function devAddress(folder: string, wayOut: string): Promise<{ url: string; apiKey: string }> {
  const read = async (name: string) => (await readFile(join(folder, name), 'utf8')).trim();
  const [url, apiKey] = await Promise.all([read(URL_FILE), read('api-key')]).catch(() => {
    throw new UsageError(`no jobferry dev runs with its data in ${folder}: ${wayOut}`);
  });
  return { url, apiKey };
}
