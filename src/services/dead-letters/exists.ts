import type { Database } from '../../db/connection/database.ts';
import { queueState } from '../../db/queues/queues.ts';
import type { Account } from '../../domain/account.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';

/**
 * Checks that the queue exists. A deleted queue is `gone`, so that clients can tell it from one that never existed
 * (D17).
 * @throws JobferryError `gone` or `not_found`
 */
export async function assertDeadLettersExist(reading: Database, account: Account, queueId: string): Promise<void> {
  const state = await queueState(reading, account.id, queueId);
  if (state === 'unknown') throw notFound('queue');
  if (state === 'deleted') throw queueDeleted();
}

export function queueDeleted(): JobferryError {
  return new JobferryError('gone', 'the queue has been deleted, and its dead letters with it');
}
