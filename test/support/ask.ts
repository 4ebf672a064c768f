import pg from 'pg';

/** @returns the first value of the first row; undefined without one */
export async function ask(url: string, statement: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return Object.values((await client.query<Record<string, unknown>>(statement)).rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}
