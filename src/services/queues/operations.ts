import * as operations from '../../db/queues/operations.ts';
import { findQueue } from '../../db/queues/queues.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { LIMITS, type Queue } from '../../domain/queue.ts';
import type { Context } from '../context.ts';
import type { Account } from '../index.ts';
import type { QueueOperations } from '../operations.ts';
import { afterCommit } from '../told-what-was-stored.ts';
import { generateSigningSecret } from './signing-secret.ts';

/** Pause, resume, the end of a hold, rotation (docs/decisions/0005), and whether payloads are encrypted (0007). */
export function createQueueOperations(context: Context): QueueOperations {
  const { db, readingPrisma, periods } = context;
  const liveQueue = async (account: Account, queueId: string): Promise<Queue> => {
    const queue = isId(queueId) ? await findQueue(readingPrisma.of(account.id), account.id, queueId) : null;
    if (queue === null) throw notFound('queue');
    return queue;
  };
  const changed = (account: Account, queueId: string) => {
    context.changes.changed({ accountId: account.id, queueId });
  };

  return {
    async pauseQueue(account, queueId) {
      if (isId(queueId) && (await operations.pauseQueue(db, account, queueId))) changed(account, queueId);
      return liveQueue(account, queueId).catch(afterCommit);
    },

    async resumeQueue(account, queueId) {
      if (isId(queueId) && (await operations.resumeQueue(db, account, queueId, periods.lifetimeMs))) {
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(account, queueId).catch(afterCommit);
    },

    async endHold(account, queueId) {
      if (isId(queueId) && (await operations.endHold(db, account, queueId))) {
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(account, queueId).catch(afterCommit);
    },

    async finishSecretRotation(account, queueId) {
      if (isId(queueId) && (await operations.finishSecretRotation(db, account, queueId))) changed(account, queueId);
      return liveQueue(account, queueId).catch(afterCommit);
    },

    async rotateSigningSecret(account, queueId, overlapSeconds) {
      const { min, max } = LIMITS.rotationOverlap;
      if (!(overlapSeconds >= min && overlapSeconds <= max)) {
        throw invalidField('overlapSeconds', `must be from ${min} to ${max}`);
      }
      const queue = await liveQueue(account, queueId);
      const secret = generateSigningSecret();
      const next = { secret, overlapMs: Math.ceil(overlapSeconds * 1000) };
      const takesOverAt = await operations.rotateSigningSecret(db, account, queueId, next);
      if (takesOverAt === null) {
        // Deleted meanwhile, or else it is the other rotation that stands in the way.
        await liveQueue(account, queueId);
        throw new JobferryError('conflict', 'another rotation is under way: its secret has not yet taken over');
      }
      changed(account, queueId);
      return { queue, signingSecret: secret, takesOverAt };
    },

    async setPayloadEncryption(account, queueId, enabled) {
      if (enabled && db.box.keyId === null) {
        throw new JobferryError('invalid_request', 'this service has no ENCRYPTION_KEY, so it cannot encrypt payloads');
      }
      if (isId(queueId) && (await operations.encryptPayloads(db, account, queueId, enabled))) changed(account, queueId);
      return liveQueue(account, queueId).catch(afterCommit);
    },
  };
}
