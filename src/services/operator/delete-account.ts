import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../../db/connection/address.ts';
import { databaseTime } from '../../db/connection/clock.ts';
import type { Database } from '../../db/connection/database.ts';
import {
  type Batches,
  beginDeletion,
  type Deletion,
  emptyingQueue,
  findReceipt,
  finishDeletion,
  markingQueues,
  nextQueue,
  type Receipt,
  removingQueues,
  removingRows,
} from '../../db/operator/deletion.ts';
import { aloneDeleting } from '../../db/operator/deletion-turn.ts';
import { schemaReport } from '../../db/schema/migrate.ts';
import type { Actor } from '../../domain/audit.ts';

/** A publish that began before its queue was marked has ended by then: statements have 4.5 s. */
const QUIET_MS = 10_000;
const WAIT_MS = 500;

/** The deletion cannot begin or go on. The message is for the operator. */
export class DeletionError extends Error {
  override readonly name = 'DeletionError';
}

interface DeletionOptions {
  /** Called after each batch. */
  progress: () => Promise<void> | void;
  quietMs?: number;
}

type Removal = (batches: Batches) => Promise<void>;

/**
 * Deletes an account with everything that belongs to it. Its keys stop to work at once; the rest goes in batches, each
 * with a pause of its own duration, so that other accounts keep half of the database's time. Called again after an
 * interruption, it continues.
 * @returns the receipt; null if there is neither such an account nor a receipt of it
 * @throws DeletionError if another process deletes the account
 */
export async function deleteAccount(
  { db, url }: { db: Database; url: Address },
  actor: Actor,
  accountId: string,
  options: DeletionOptions,
): Promise<Receipt | null> {
  const present = await findReceipt(db, accountId);
  if (present?.finishedAt != null) return present;
  const ended = await aloneDeleting({ db, url }, accountId, async (isAlone) => {
    await beginDeletion(db, actor, accountId);
    const begun = await findReceipt(db, accountId);
    return { receipt: begun?.finishedAt === null ? await finish(db, actor, begun, isAlone, options) : begun };
  });
  if (ended !== null) return ended.receipt;
  throw new DeletionError(
    `account ${accountId} is being deleted by another \`account delete\`, or one that was killed ends within a minute: ` +
      'wait for that, then run this command again for the receipt',
  );
}

async function finish(
  db: Database,
  actor: Actor,
  deletion: Deletion,
  isAlone: () => boolean,
  { progress, quietMs = QUIET_MS }: DeletionOptions,
): Promise<Receipt> {
  const all: Removal = async (batches) => {
    for (;;) {
      assertAlone(deletion, isAlone);
      const startedAt = performance.now();
      if ((await batches()) === 0) return;
      await progress();
      await sleep(performance.now() - startedAt);
    }
  };
  for (;;) {
    await removeQueues(db, deletion, quietMs, all);
    for (const batches of removingRows(db, deletion)) await all(batches);
    assertAlone(deletion, isAlone);
    await assertKnown(db, deletion);
    await finishDeletion(db, actor, deletion);
    const receipt = await findReceipt(db, deletion.accountId);
    if (receipt === null || receipt.requestedAt.getTime() !== deletion.requestedAt.getTime()) {
      throw new DeletionError(
        `another run finished the deletion of account ${deletion.accountId}, which was restored since: the restored account is as it was`,
      );
    }
    if (receipt.finishedAt !== null) return receipt;
    // Otherwise the account has a queue again.
  }
}

function assertAlone({ accountId }: Deletion, isAlone: () => boolean): void {
  if (isAlone()) return;
  throw new DeletionError(
    `the database ended the connection that keeps others from deleting account ${accountId} at the same time: run the command again`,
  );
}

/** A later release may have tables with rows of the account that this one would leave behind. */
async function assertKnown(db: Database, { accountId }: Deletion): Promise<void> {
  const { later, release } = await schemaReport(db.pool);
  if (later.length === 0) return;
  throw new DeletionError(
    `a later release of Jobferry (${release?.version ?? later.join(', ')}) has migrated the database meanwhile: ` +
      `finish the deletion of account ${accountId} with the command of that release`,
  );
}

async function removeQueues(db: Database, deletion: Deletion, quietMs: number, all: Removal): Promise<void> {
  for (;;) {
    await all(markingQueues(db, deletion));
    const emptiedFrom = new Date(await databaseTime(db));
    let queueId = await nextQueue(db, deletion, '');
    while (queueId !== null) {
      for (const batches of emptyingQueue(db, deletion, queueId)) await all(batches);
      queueId = await nextQueue(db, deletion, queueId);
    }
    await all(removingQueues(db, deletion, emptiedFrom, quietMs));
    if ((await nextQueue(db, deletion, '')) === null) return;
    await sleep(WAIT_MS);
  }
}
