import type { Actor } from '../domain/audit.ts';
import { actorJson } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';

/**
 * SQL: the id of the operator's account. It is the marked one; in a database that no `serve` has used, which has no
 * mark yet, the one with the lowest id.
 */
export const OPERATORS_ACCOUNT = `coalesce((select id from account where is_operator), (select id from account order by id limit 1))`;

const FIND: Statement = { name: 'operators-account', text: `select ${OPERATORS_ACCOUNT} as id` };

/** @returns the id of the operator's account; null when there is no account */
export async function operatorsAccountId(db: Database): Promise<string | null> {
  return (await db.one<{ id: string | null }>(FIND))?.id ?? null;
}

/** SQL: marks the operator's account if none is marked. Returns its id then. */
export const MARK_OPERATORS_ACCOUNT = `
  update account set is_operator = true
   where id = ${OPERATORS_ACCOUNT} and not exists (select from account where is_operator)
  returning id, name`;

// The former account gives the role up first, because an index permits one: that is why the second update reads the
// first. Both accounts get an entry in the audit log. A suspended account may be about to be deleted: a deletion
// suspends it first, and this waits for the row.
const GIVE: Statement = {
  name: 'give-operators-role',
  text: `
    with present as materialized (
      select id, name, is_operator, suspended_at from account where id = $1 for no key update
    ), chosen as (
      select id from present where not is_operator and suspended_at is null
    ), given as (
      update account set is_operator = false from chosen where account.is_operator returning account.id, account.name
    ), taken as (
      update account set is_operator = true
       where id = (select id from chosen) and (select count(*) from given) >= 0
      returning id, name
    )
    select present.suspended_at is not null as "isSuspended", (select id from given) as before,
           (select count(jobferry_audit(c.id, $2::json, 'account.set_operator', 'account', c.id, c.name,
                                        jsonb_build_object('isOperator', not c.is_now),
                                        jsonb_build_object('isOperator', c.is_now)))
              from (select id, name, false as is_now from given union all select id, name, true from taken) c) as changed
      from present`,
};

interface RoleChange {
  /** Whether the account is suspended. Nothing was changed then. */
  isSuspended: boolean;
  /** Id of the account that had the role; null if none was marked, or nothing was changed. */
  before: string | null;
  /** Number of changed accounts; 0 if the account had the role already. */
  changed: number;
}

/** Makes an account the operator's. @returns null if there is no such account */
export function giveOperatorsRole(db: Database, actor: Actor, accountId: string): Promise<RoleChange | null> {
  return db.one<RoleChange & Record<string, unknown>>(GIVE, [accountId, actorJson(actor)]);
}
