// @ts-check
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Permanent } from '@jobferry/client/webhook';

/**
 * Stores a customer in the folder `customers`. A second delivery writes the same file with the same content.
 *
 * @param {import('@jobferry/client/webhook').Delivery<{ id: string, name: string, country: string }>} delivery
 */
export async function importRow({ job }) {
  const { id, name, country } = job.payload;
  if (!/^\d+$/.test(id)) throw new Permanent(`the id is ${id}`);
  // Read for each row, so that a new country counts at once.
  const countries = /** @type {Record<string, string>} */ (JSON.parse(await readFile('countries.json', 'utf8')));
  if (!Object.hasOwn(countries, country)) throw new Permanent(`there is no country ${country}`);
  await mkdir('customers', { recursive: true });
  await writeFile(`customers/${id}.json`, JSON.stringify({ id, name, country: countries[country] }));
}
