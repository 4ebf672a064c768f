import pg from 'pg';

/** Every row of every table of a database, as one line of JSON with its table's name in front. */
export async function dumpDatabase(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select quote_ident(n.nspname) || '.' || quote_ident(c.relname) as name
         from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p', 'm') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast'
        order by 1`,
    );
    const lines: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ line: string }>(`select row_to_json(t)::text as line from ${name} t`);
      lines.push(...rows.map(({ line }) => `${name} ${line}`));
    }
    return lines;
  } finally {
    await client.end();
  }
}
