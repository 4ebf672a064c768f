import type { Queryable } from './migrations.ts';

/** What a database role needs that serves and does not migrate: rows may be changed, tables and functions may not. */

const SCHEMAS = `array[current_schema()::text, 'graphile_worker']`;

/** graphile-worker's tables show rows to their owner only, unless a policy says otherwise. */
const STATEMENTS = `
  select format('grant usage on schema %I to %I', s, $1::text) as statement from unnest(${SCHEMAS}) s
  union all
  select format('grant select, insert, update, delete on all tables in schema %I to %I', s, $1::text) from unnest(${SCHEMAS}) s
  union all
  select format('grant usage on all sequences in schema %I to %I', s, $1::text) from unnest(${SCHEMAS}) s
  union all
  select format('create policy %I on %s to %I using (true) with check (true)', 'jobferry_' || $1::text, c.oid::regclass, $1::text)
    from pg_class c
   where c.relnamespace = 'graphile_worker'::regnamespace and c.relrowsecurity
     and not exists (select from pg_policy p where p.polrelid = c.oid and p.polname = left('jobferry_' || $1::text, 63))`;

/**
 * Grants the role what a process needs that serves. To be repeated after migrations, which can add tables.
 * @returns false if there is no such role
 */
export async function grantTo(database: Queryable, role: string): Promise<boolean> {
  const { rowCount } = await database.query('select from pg_roles where rolname = $1', [role]);
  if (rowCount === 0) return false;
  const { rows } = await database.query<{ statement: string }>(STATEMENTS, [role]);
  for (const { statement } of rows) await database.query(statement);
  return true;
}
