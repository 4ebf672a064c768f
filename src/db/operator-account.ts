import type { Database, Statement } from './connection/database.ts';

/**
 * SQL: the id of the operator's account. It is the marked one; in a database that no `serve` has used, which has no mark yet,
 * the one with the lowest id.
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
