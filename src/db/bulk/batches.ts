import type { Periods } from '../../domain/periods.ts';
import type { Database, Statement } from '../connection/database.ts';
import { type Settlement, toItems } from '../delivery/settle.ts';
import type { RunningAction } from './actions.ts';

/** Batches of bulk actions: the changes of a batch and its counts are one commit. */

/** `ended`: the action is no longer running. `taken`: another process has continued it. */
type Overtaken = { outcome: 'ended' | 'taken' };

/** Every function that runs a batch returns one row with one column, the answer. */
async function run<Done>(db: Database, statement: Statement, values: unknown[]): Promise<Done | Overtaken> {
  const row = await db.one<{ answer: Done | Overtaken }>(statement, values);
  if (row === null) throw new Error(`${statement.name} returned no row`);
  return row.answer;
}

const REPLAY: Statement = {
  name: 'bulk-replay',
  text: `select jobferry_bulk_replay_letters($1, $2, $3, $4, $5, $6 * interval '1 ms', $7 * interval '1 ms') as answer`,
};

/** `jobs`: ids of the new jobs. `queues`: ids of their queues. */
type BatchReplay = { outcome: 'limit_reached' } | { outcome: 'done'; jobs: string[]; queues: string[] };

/**
 * Replays a batch of dead letters of any queues, and counts it, in one commit.
 * @param batch.position id up to which nothing is left to do after the batch
 * @param batch.limit the plan's monthly attempts; null without a limit
 */
export async function replayBatch(
  db: Database,
  action: RunningAction,
  batch: { ids: string[]; position: string; limit: number | null },
  { retentionMs, lifetimeMs }: Periods,
): Promise<BatchReplay | Overtaken> {
  const values = [action.id, action.processed, batch.ids, batch.position, batch.limit, retentionMs, lifetimeMs];
  return run(db, REPLAY, values);
}

const SETTLE: Statement = { name: 'bulk-settle', text: 'select jobferry_bulk_settle($1, $2, $3, $4) as answer' };

/**
 * Settles those jobs of a batch that can be settled, and counts all of them, in one commit.
 * @param ids ids of all jobs of the batch, in the order of the action
 */
export async function settleBatch(
  db: Database,
  action: RunningAction,
  ids: string[],
  settlements: readonly Settlement[],
): Promise<Overtaken | { outcome: 'done'; applied: string[] }> {
  return run(db, SETTLE, [action.id, action.processed, ids, toItems(db.cipher, settlements)]);
}

const RUN_NOW: Statement = { name: 'bulk-run-now', text: 'select jobferry_bulk_run_now($1, $2, $3) as answer' };

/** Makes those jobs of a batch due that are pending and not yet due, and counts all of them, in one commit. */
export async function runBatchNow(
  db: Database,
  action: RunningAction,
  ids: string[],
): Promise<Overtaken | { outcome: 'done'; queues: string[] }> {
  return run(db, RUN_NOW, [action.id, action.processed, ids]);
}
