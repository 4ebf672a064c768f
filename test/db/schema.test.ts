import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';

/** Column and whether it may be null, per table, as in `schema.prisma`. */
function modelled(schema: string): Record<string, Record<string, boolean>> {
  const tables: Record<string, Record<string, boolean>> = {};
  for (const [, model = '', body = ''] of schema.matchAll(/^model (\w+) \{\n(.*?)^\}/gms)) {
    const columns: Record<string, boolean> = {};
    for (const line of body.split('\n')) {
      const [, name, type, rest = ''] =
        /^ {2}(\w+)\s+(String|Int|BigInt|Float|Boolean|DateTime|Json)(.*)$/.exec(line) ?? [];
      if (name === undefined || type === undefined) continue;
      columns[/@map\("(\w+)"\)/.exec(rest)?.[1] ?? name] = rest.startsWith('?');
    }
    tables[/@@map\("(\w+)"\)/.exec(body)?.[1] ?? model] = columns;
  }
  return tables;
}

it('has the same tables and columns in the Prisma models and in the migrations', async () => {
  const { url } = await createTestDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ table: string; column: string; nullable: boolean }>(
    `select table_name as table, column_name as column, is_nullable = 'YES' as nullable
       from information_schema.columns where table_schema = 'public' and table_name <> '_prisma_migrations'`,
  );
  await client.end();
  const migrated: Record<string, Record<string, boolean>> = {};
  for (const { table, column, nullable } of rows) migrated[table] = { ...migrated[table], [column]: nullable };
  expect(modelled(await readFile(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8'))).toEqual(migrated);
});
