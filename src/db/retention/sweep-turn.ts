import type { Database, Statement } from '../connection/database.ts';
import { holdOnPurpose } from '../connection/unused-connections.ts';
import type { SweptById } from './sweep.ts';

/**
 * How far sweeps by id have come. It is stored, so that the next sweep of any process continues there. A sweep that
 * began at the lowest id again would pass all removed rows that an old snapshot still keeps (docs/decisions/0009), and
 * all rows that have not ended.
 */
interface SweepPosition {
  /** Rows up to this id have been checked once, when they had just passed their retention. */
  front: string;
  /** Rows up to this id have been checked again: a job may have ended since, or was locked. */
  again: string;
}

const LOCK = `hashtextextended('jobferry sweep', 0)`;

// Real time, not `jobferry_now()`: it decides when to sweep, and not which rows.
const BEGIN = `
  select pg_try_advisory_lock(${LOCK}) as alone,
         not exists (select from follower
                      where name = 'sweep' and updated_at > clock_timestamp() - $1 * interval '1 ms'
                        and updated_at <= clock_timestamp()) as due`;

const END: Statement = {
  name: 'sweep-end',
  text: `
    insert into follower (name, position, updated_at) values ('sweep', '', clock_timestamp())
    on conflict (name) do update set updated_at = excluded.updated_at`,
};

/**
 * Runs `work` if no other process is sweeping, and no sweep ended less than `everyMs` ago. The lock belongs to a
 * session, so it ends with the process and lasts for any length of a sweep. `isAlone` returns whether it is still held.
 */
export async function inSweepTurn(
  db: Database,
  everyMs: number,
  work: (isAlone: () => boolean) => Promise<void>,
): Promise<void> {
  const client = await db.sessionPool.connect();
  let isAlone = true;
  const lost = () => {
    isAlone = false;
  };
  client.on('end', lost);
  client.on('error', lost);
  // A connection that may hold the lock must not go back into the pool.
  let mayHold = true;
  try {
    const { rows } = await client.query<{ alone: boolean; due: boolean }>(BEGIN, [everyMs]);
    const [turn] = rows;
    if (turn?.alone !== true) {
      mayHold = false;
      return;
    }
    if (turn.due) {
      holdOnPurpose(client);
      await work(() => isAlone);
      await db.query(END);
    }
    await client.query(`select pg_advisory_unlock(${LOCK})`);
    mayHold = false;
  } finally {
    client.off('end', lost);
    client.off('error', lost);
    client.release(mayHold);
  }
}

const nameOf = (what: SweptById, which: keyof SweepPosition) => `sweep-${what}-${which}`;

const READ: Statement = {
  name: 'sweep-position',
  text: `
    select coalesce((select position from follower where name = $1), '') as front,
           coalesce((select position from follower where name = $2), '') as again`,
};

export async function sweepPosition(db: Database, what: SweptById): Promise<SweepPosition> {
  const row = await db.one<SweepPosition & Record<string, unknown>>(READ, [
    nameOf(what, 'front'),
    nameOf(what, 'again'),
  ]);
  return row ?? { front: '', again: '' };
}

const SAVE: Statement = {
  name: 'sweep-position-save',
  text: `
    insert into follower (name, position) values ($1, $2), ($3, $4)
    on conflict (name) do update set position = excluded.position, updated_at = jobferry_now()`,
};

export async function saveSweepPosition(db: Database, what: SweptById, position: SweepPosition): Promise<void> {
  await db.query(SAVE, [nameOf(what, 'front'), position.front, nameOf(what, 'again'), position.again]);
}
