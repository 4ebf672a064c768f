import { setBreaker } from '../../db/queues/breaker.ts';
import * as operations from '../../db/queues/operations.ts';
import { signingSecretsOf } from '../../db/queues/standard-webhooks.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { assertBreaker, type BreakerSettings } from '../../domain/breaker.ts';
import { invalidField, JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { LIMITS, type Queue } from '../../domain/queue.ts';
import { standardKeyOf } from '../../domain/standard-webhooks.ts';
import type { Context } from '../context.ts';
import { afterCommit } from '../explain-unavailable.ts';
import { liveQueue } from './manage.ts';
import { generateSigningSecret } from './signing-secret.ts';

/**
 * Pauses and resumes queues, ends holds, rotates signing secrets (docs/decisions/0005), and switches the encryption of
 * payloads (0007), the headers of Standard Webhooks (0050), the mark of production (0051) and the breaker (0053).
 * GraphQL only. Each change is written to the audit log in the same commit, and returns the queue as it is afterwards.
 * @throws JobferryError `not_found`, `unavailable`, and what the method names
 */
export function createQueueOperations(context: Context) {
  const { db, periods } = context;
  const changed = (account: Account, queueId: string) => {
    context.changes.changed({ accountId: account.id, queueId });
  };

  return {
    /** Stops the deliveries of a queue; publishing goes on. Pausing a paused queue changes nothing. */
    async pause(account: Account, queueId: string): Promise<Queue> {
      if (isId(queueId) && (await operations.pauseQueue(db, authorOf(account), queueId))) changed(account, queueId);
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /** Ends a pause. Each waiting job gets its full delivery lifetime again: the time of the pause does not count.
     * @throws JobferryError `forbidden` (suspended account) */
    async resume(account: Account, queueId: string): Promise<Queue> {
      assertNotSuspended(account);
      if (isId(queueId) && (await operations.resumeQueue(db, authorOf(account), queueId, periods.lifetimeMs))) {
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /**
     * Ends the hold of a queue. Up to 1000 of its jobs that wait for the end of a hold become due, among them the job
     * that caused it. An open breaker stays open, and its next probe is due. Changes nothing when the queue is not
     * held.
     */
    async endHold(account: Account, queueId: string): Promise<Queue> {
      if (isId(queueId) && (await operations.endHold(db, authorOf(account), queueId))) {
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /** Replaces the present signing secret by the next one now. Changes nothing when no rotation is running. */
    async finishSecretRotation(account: Account, queueId: string): Promise<Queue> {
      if (isId(queueId) && (await operations.finishSecretRotation(db, authorOf(account), queueId))) {
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /**
     * Creates a new signing secret, which is shown once. During the overlap the spec's header has the signature of the
     * present secret, and `<header>-next` that of the new one. At `takesOverAt` the new secret replaces the present
     * one. An overlap of 0 replaces it at once, and ends another rotation that is running.
     * @throws JobferryError `invalid_fields` (overlapSeconds), `conflict` (another rotation is running)
     */
    async rotateSigningSecret(
      account: Account,
      queueId: string,
      overlapSeconds: number,
    ): Promise<{ queue: Queue; signingSecret: string; takesOverAt: Date }> {
      const { min, max } = LIMITS.rotationOverlap;
      if (!(overlapSeconds >= min && overlapSeconds <= max)) {
        throw invalidField('overlapSeconds', `must be from ${min} to ${max}`);
      }
      const queue = await liveQueue(context, account, queueId);
      const secret = generateSigningSecret();
      const next = { secret, overlapMs: Math.ceil(overlapSeconds * 1000) };
      const takesOverAt = await operations.rotateSigningSecret(db, authorOf(account), queueId, next);
      if (takesOverAt === null) {
        // Either the queue was deleted meanwhile, which `liveQueue` reports, or another rotation is running.
        await liveQueue(context, account, queueId);
        throw new JobferryError('conflict', rotationInProgress(await operations.rotationEnd(db, queueId)));
      }
      context.wake(queueId, 'change');
      changed(account, queueId);
      return { queue, signingSecret: secret, takesOverAt };
    },

    /**
     * Sets whether the payloads of later jobs, and the answers of their webhook, are stored encrypted.
     * @throws JobferryError `invalid_request` (no ENCRYPTION_KEY)
     */
    async setPayloadEncryption(account: Account, queueId: string, enabled: boolean): Promise<Queue> {
      if (enabled && db.cipher.keyId === null) {
        const why =
          db.cipher.firstKeyId === null
            ? 'this service has no ENCRYPTION_KEY'
            : 'a running process does not have the ENCRYPTION_KEY of this one yet';
        throw new JobferryError('invalid_request', `${why}, so it cannot encrypt payloads`);
      }
      if (isId(queueId) && (await operations.switchQueue(db, authorOf(account), queueId, 'payloadsEncrypted', enabled)))
        changed(account, queueId);
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /**
     * Sets whether deliveries also have the headers of Standard Webhooks. The worker of this process follows before
     * this resolves, those of other processes within 2 s. Secrets of later rotations are base64, too
     * (`generateSigningSecret`).
     * @throws JobferryError `invalid_request` (a signing secret that is not base64)
     */
    async setStandardWebhooks(account: Account, queueId: string, enabled: boolean): Promise<Queue> {
      if (isId(queueId)) {
        if (enabled) assertStandard(await signingSecretsOf(db, account.id, queueId));
        if (await operations.switchQueue(db, authorOf(account), queueId, 'standardWebhooks', enabled)) {
          // It is stored: after a failure the next poll finds it.
          await context.followQueues?.().catch(() => undefined);
          context.wake(queueId, 'change');
          changed(account, queueId);
        }
      }
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /**
     * Sets when the breaker of the queue opens, or removes it with null; one that is open then probes at once, or lets
     * its queue go on. The worker of this process follows before this resolves, those of other processes within 2 s.
     * @throws JobferryError `invalid_fields` (breaker)
     */
    async setBreaker(account: Account, queueId: string, breaker: BreakerSettings | null): Promise<Queue> {
      if (breaker !== null) assertBreaker(breaker);
      if (isId(queueId) && (await setBreaker(db, authorOf(account), queueId, breaker))) {
        await context.followQueues?.().catch(() => undefined);
        context.wake(queueId, 'change');
        changed(account, queueId);
      }
      return liveQueue(context, account, queueId).catch(afterCommit);
    },

    /** Sets whether the queue is marked as production: then a tunnel to it has to be forced (docs/decisions/0051). */
    async markProduction(account: Account, queueId: string, isProduction: boolean): Promise<Queue> {
      if (isId(queueId) && (await operations.switchQueue(db, authorOf(account), queueId, 'production', isProduction)))
        changed(account, queueId);
      return liveQueue(context, account, queueId).catch(afterCommit);
    },
  };
}

/** Only a secret that was written into the database by hand is refused: Jobferry's are base64. */
function assertStandard(secrets: readonly string[]): void {
  if (secrets.every((secret) => standardKeyOf(secret) !== null)) return;
  const why = 'a signing secret of this queue is not base64, so no library of Standard Webhooks could verify it';
  throw new JobferryError('invalid_request', `${why}: replace it first (rotateSigningSecret with overlapSeconds 0)`);
}

function rotationInProgress(takesOverAt: Date | null): string {
  const when = takesOverAt === null ? '' : `, until ${takesOverAt.toISOString()}`;
  return `another rotation is in progress${when}: finishSecretRotation ends it now, and an overlap of 0 replaces its secret`;
}
