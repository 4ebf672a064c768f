import type { ConnectionFacts } from '../../domain/doctor-connections.ts';
import type { Database, Statement } from '../connection/database.ts';

// Reads statistics and catalogues that every role may read. A superuser has no limit but the server's.
const OF_SERVER: Statement = {
  name: 'server-connections',
  text: `
    with own as (
      select r.oid, r.rolsuper, r.rolconnlimit, d.datconnlimit
        from pg_roles r, pg_database d where r.rolname = current_user and d.datname = current_database()
    ), bound (name, used, max) as (
      select 'server', (select sum(numbackends) from pg_stat_database),
             current_setting('max_connections')::integer - case when rolsuper then 0 else
               current_setting('superuser_reserved_connections')::integer
               + coalesce(nullif(current_setting('reserved_connections', true), ''), '0')::integer end
        from own
       union all
      select 'role', (select count(*) from pg_stat_activity where usesysid = own.oid), rolconnlimit
        from own where rolconnlimit >= 0 and not rolsuper
       union all
      select 'database', (select numbackends from pg_stat_database where datname = current_database()), datconnlimit
        from own where datconnlimit >= 0 and not rolsuper
    )
    select name as limit, used::integer, max, (select min(max) from bound) as allowed from bound order by max - used limit 1`,
};

/** Returns the limit of connections that is nearest, with its use. */
export async function connectionFacts(db: Database): Promise<ConnectionFacts> {
  const row = await db.one<ConnectionFacts & Record<string, unknown>>(OF_SERVER);
  if (row === null) throw new Error('the limits of connections returned no row');
  return row;
}
