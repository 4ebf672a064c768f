import {
  type ClaimedNotification,
  claimNotifications,
  type NotificationOutcome,
  recordNotification,
} from '../db/alerts/notifications.ts';
import { UnreadableError } from '../db/connection/cipher.ts';
import type { Database } from '../db/connection/database.ts';
import { nextAttemptMs } from '../domain/alert-message.ts';
import { counts } from '../telemetry/counts/counts.ts';
import type { Logger } from '../telemetry/log.ts';
import { Channels, type ChannelsParts } from './channels.ts';

/** Notifications that are sent at once. */
const AT_ONCE = 16;
/** Time limit of a request. A person waits for an alert, so it is shorter than that of a delivery may be. */
export const NOTIFICATION_TIMEOUT_MS = 10_000;
/** A claimed notification is claimed again after this: its process is gone, or has lost the database. */
const LEASE_MS = 30_000;
/** No request is begun, or written, that could end after the lease. */
const SEND_MS = LEASE_MS - 5000;

interface NotifierParts extends ChannelsParts {
  db: Database;
  log: Pick<Logger, 'warn'>;
}

/**
 * Sends notifications, and again if the receiver does not take them. Each is on its own: a receiver that is silent
 * takes one place of its account until its time limit.
 */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #channels: Channels;
  /**
   * Notifications that are being sent. One that is claimed again while its last try is still recorded is there twice.
   */
  readonly #sending = new Set<{ accountId: string; ended: Promise<void> }>();

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    this.#channels = new Channels(parts);
  }

  /** Begins to send what is due, as far as there is room. */
  async round(): Promise<void> {
    const room = AT_ONCE - this.#sending.size;
    if (room <= 0) return;
    const claimedAt = performance.now();
    const accounts = [...this.#sending].map(({ accountId }) => accountId);
    const claimed = await claimNotifications(this.#parts.db, room, accounts, LEASE_MS);
    for (const notification of claimed) this.#begin(notification, claimedAt);
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    await Promise.all([...this.#sending].map(({ ended }) => ended));
  }

  #begin(notification: ClaimedNotification, claimedAt: number): void {
    const { id, accountId } = notification;
    const ended = this.#deliver(notification, claimedAt)
      // It is claimed again when its lease ends.
      .catch((err: unknown) => this.#parts.log.warn({ err, notificationId: id }, 'a notification was not recorded'))
      .finally(() => this.#sending.delete(sending));
    const sending = { accountId, ended };
    this.#sending.add(sending);
  }

  async #deliver(notification: ClaimedNotification, claimedAt: number): Promise<void> {
    const { db, log } = this.#parts;
    const { id, ruleId, attempts } = notification;
    const outcome = notification.isSuspended
      ? { isSent: false, retryMs: null, statusCode: null, error: 'account_suspended' }
      : await this.#send(notification, claimedAt);
    if (outcome === null) return;
    if (!outcome.isSent && outcome.retryMs === null) {
      const { statusCode, error } = outcome;
      const target = notification.target.type;
      log.warn(
        { notificationId: id, ruleId, target, attempts, statusCode, error },
        'a notification of an alert was given up',
      );
    }
    await recordNotification(db, notification, outcome);
    if (outcome.isPutOff !== true) counts.alertNotifications.add(resultOf(outcome));
  }

  /** @returns null if the request was abandoned, because the lease could have ended */
  async #send(notification: ClaimedNotification, claimedAt: number): Promise<NotificationOutcome | null> {
    const { ruleId, signingSecret, attempts } = notification;
    let secret: string;
    try {
      secret = this.#parts.db.cipher.decrypt(`signing-secret:${ruleId}`, signingSecret);
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      // Another process may have the key, or this one after a restart.
      return { isSent: false, retryMs: nextAttemptMs(attempts, null), statusCode: null, error: 'secret_unreadable' };
    }
    const stillMine = (remainingMs: number) => performance.now() + remainingMs <= claimedAt + SEND_MS;
    const outcome = await this.#channels.send(notification, secret, stillMine);
    if (outcome === null) return null;
    const { isSent, statusCode, error, retryAfterMs, putOffMs } = outcome;
    if (putOffMs !== null) return { isSent, retryMs: putOffMs, statusCode, error, isPutOff: true };
    const retryMs = isSent ? null : nextAttemptMs(attempts, retryAfterMs);
    return { isSent, retryMs, statusCode, error };
  }
}

function resultOf({ isSent, retryMs }: NotificationOutcome): string {
  if (isSent) return 'sent';
  return retryMs === null ? 'given_up' : 'failed';
}
