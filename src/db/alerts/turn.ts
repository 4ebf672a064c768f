import type { Database, Statement } from '../connection/database.ts';

/**
 * Which process evaluates the rules. It is a row that the process renews, and not an advisory lock: a process that is
 * frozen keeps its connections, and with them its locks.
 */

/** A process that has not renewed its turn for this long loses it. */
const TURN_SECONDS = 30;

const HOLDER = `split_part(follower.position, ' ', 1)`;

// Real time: it decides which process works, and nothing about alerts.
// A time in the future is of a clock that was set back.
const TAKE: Statement = {
  name: 'take-alert-turn',
  text: `
    insert into follower (name, position, updated_at)
    select 'alerts', $1 || ' ' || coalesce($2, ''), clock_timestamp() where exists (select from alert_rule)
    on conflict (name) do update
      set position = $1 || ' ' || coalesce($2, split_part(follower.position, ' ', 2)), updated_at = clock_timestamp()
      where ${HOLDER} = $1 or follower.updated_at < clock_timestamp() - interval '${TURN_SECONDS} s'
         or follower.updated_at > clock_timestamp() + interval '${TURN_SECONDS} s'
    returning split_part(position, ' ', 2) as after`,
};

/**
 * Takes or renews the turn of this process.
 * @param after the account up to which rules were evaluated; null to keep what is stored
 * @returns that account; null if another process has the turn, or there are no rules
 */
export async function takeAlertTurn(db: Database, holder: string, after: string | null): Promise<string | null> {
  return (await db.one<{ after: string }>(TAKE, [holder, after]))?.after ?? null;
}

const END: Statement = {
  name: 'end-alert-turn',
  text: `update follower set updated_at = '-infinity' where name = 'alerts' and ${HOLDER} = $1`,
};

/** Ends the turn of this process at once, so that another one continues. */
export async function endAlertTurn(db: Database, holder: string): Promise<void> {
  await db.query(END, [holder]);
}

/**
 * SQL: one row if the process that the parameter names has the turn,
 * which it then keeps until the end of the transaction.
 */
export const hasTurn = (holder: string) =>
  `select 1 from follower where name = 'alerts' and ${HOLDER} = ${holder} for share`;
