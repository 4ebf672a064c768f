import { setTimeout as sleep } from 'node:timers/promises';
import { databaseTime } from '../../db/connection/clock.ts';
import type { Database } from '../../db/connection/database.ts';
import {
  type Batches,
  beginDeletion,
  emptyingQueue,
  findReceipt,
  finishDeletion,
  markingQueues,
  nextQueue,
  type Receipt,
  removingQueues,
  removingRows,
} from '../../db/operator/deletion.ts';
import type { Actor } from '../../domain/audit.ts';

/** A publish that began before its queue was marked has ended by then: statements have 4.5 s. */
const QUIET_MS = 10_000;
const WAIT_MS = 500;

interface DeletionOptions {
  /** Called after each batch. */
  progress: () => Promise<void> | void;
  quietMs?: number;
}

/**
 * Deletes an account with everything that belongs to it. Its keys stop to work at once; the rest goes in batches, each with a
 * pause of its own duration, so that other accounts keep half of the database's time. Called again after an interruption, it
 * continues.
 * @returns the receipt; null if there is neither such an account nor a receipt of it
 */
export async function deleteAccount(
  db: Database,
  actor: Actor,
  accountId: string,
  { progress, quietMs = QUIET_MS }: DeletionOptions,
): Promise<Receipt | null> {
  const all = async (batches: Batches) => {
    for (;;) {
      const startedAt = performance.now();
      if ((await batches()) === 0) return;
      await progress();
      await sleep(performance.now() - startedAt);
    }
  };
  const present = await findReceipt(db, accountId);
  if (present?.finishedAt != null) return present;
  await beginDeletion(db, actor, accountId);
  if ((await findReceipt(db, accountId)) === null) return null;
  do {
    await removeQueues(db, accountId, quietMs, all);
    for (const batches of removingRows(db, accountId)) await all(batches);
  } while (!(await finishDeletion(db, actor, accountId)));
  return findReceipt(db, accountId);
}

async function removeQueues(
  db: Database,
  accountId: string,
  quietMs: number,
  all: (batches: Batches) => Promise<void>,
): Promise<void> {
  for (;;) {
    await all(markingQueues(db, accountId));
    const emptiedFrom = new Date(await databaseTime(db));
    let queueId = await nextQueue(db, accountId, '');
    while (queueId !== null) {
      for (const batches of emptyingQueue(db, accountId, queueId)) await all(batches);
      queueId = await nextQueue(db, accountId, queueId);
    }
    await all(removingQueues(db, accountId, emptiedFrom, quietMs));
    if ((await nextQueue(db, accountId, '')) === null) return;
    await sleep(WAIT_MS);
  }
}
