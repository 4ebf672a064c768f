import { ownSequences, ownTables, type Queryable } from './migrations.ts';

/**
 * Grants for a database role that serves and does not migrate: rows of Jobferry's tables may be changed, tables and
 * functions may not. The schema may be shared with another application, so nothing is granted on all of its tables.
 */

const SCHEMA = 'current_schema()';

/**
 * graphile-worker has a schema of its own. Its tables show rows to their owner only, unless a policy says otherwise.
 */
const STATEMENTS = `
  select format('grant usage on schema %I to %I', s, $1::text) as statement
    from unnest(array[${SCHEMA}::text, 'graphile_worker']) s
  union all
  select format('grant select, insert, update, delete on %I.%I to %I', ${SCHEMA}, t, $1::text) from unnest($2::text[]) t
  union all
  select format('grant usage on sequence %I.%I to %I', ${SCHEMA}, s, $1::text) from unnest($3::text[]) s
  union all
  select format('grant select on %I._prisma_migrations to %I', ${SCHEMA}, $1::text)
  union all
  select format('grant select, insert, update, delete on all tables in schema graphile_worker to %I', $1::text)
  union all
  select format('grant usage on all sequences in schema graphile_worker to %I', $1::text)
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
  const { rows } = await database.query<{ statement: string }>(STATEMENTS, [role, ownTables(), ownSequences()]);
  for (const { statement } of rows) await database.query(statement);
  return true;
}

const MISSING = `
  select current_user as role, array_agg(t) as tables from unnest($1::text[]) t
   where not (has_table_privilege(format('%I.%I', ${SCHEMA}, t), 'insert') and has_table_privilege(format('%I.%I', ${SCHEMA}, t), 'delete'))
  having count(*) > 0`;

/**
 * @throws Error if the role of this connection lacks what `grantTo` grants on a table:
 * a later release may have added it
 */
export async function assertGranted(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ role: string; tables: string[] }>(MISSING, [ownTables()]);
  const [missing] = rows;
  if (missing === undefined) return;
  const { role, tables } = missing;
  throw new Error(
    `the database role ${role} may not change ${tables.join(', ')}: \`jobferry migrate --grant-to ${role}\`, as the owner of the tables, grants it`,
  );
}
