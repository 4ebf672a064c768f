import type { ClaimedNotification } from '../db/alerts/notifications.ts';
import { databaseTime } from '../db/connection/clock.ts';
import type { Database } from '../db/connection/database.ts';
import type { Sender } from '../delivery/send.ts';
import { eventsOf } from '../domain/alert-incident.ts';
import { mailOf } from '../domain/alert-mail.ts';
import { messageOf, slackMessageOf } from '../domain/alert-message.ts';
import { classify } from '../domain/outcome.ts';
import type { Mailer } from './mailer.ts';

/** Recipients that an account can reach at once, after it sent nothing for a while. */
const BURST = 60;
/** Time after which an account can reach one more. */
const REFILL_MS = 20_000;
/** Accounts above which those that have sent nothing for a while are forgotten. */
const MANY = 1000;

/**
 * How much mail each account may send: alerts are for people, and an account must not use the service to fill the
 * mailboxes of others. It is kept by the process that has the turn, and the next one knows nothing of it.
 */
export class MailPace {
  /** Time at which an account could send a whole burst again. */
  readonly #fullAt = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts a mail, if it may be sent now. @returns the wait until it may be sent; 0 if it may be sent now */
  take(accountId: string, recipients: number): number {
    const now = this.#now();
    const fullAt = Math.max(this.#fullAt.get(accountId) ?? 0, now) + recipients * REFILL_MS;
    const waitMs = fullAt - now - BURST * REFILL_MS;
    if (waitMs > 0) return waitMs;
    if (this.#fullAt.size >= MANY) this.#forget(now);
    this.#fullAt.set(accountId, fullAt);
    return 0;
  }

  #forget(now: number): void {
    for (const [accountId, fullAt] of this.#fullAt) if (fullAt <= now) this.#fullAt.delete(accountId);
  }
}

export interface ChannelsParts {
  db: Database;
  sender: Pick<Sender, 'send'>;
  /** Null if the process has no SMTP server. */
  mailer: Mailer | null;
  /** Where events of PagerDuty go. */
  pagerDutyUrl: string;
  /** Address of the page with the alerts; null if it is not known. */
  pageUrl: string | null;
}

/** The result of an attempt. */
interface Tried {
  isSent: boolean;
  statusCode: number | null;
  error: string | null;
  /** The wait that the receiver asks for; null without one. */
  retryAfterMs: number | null;
  /** Nothing was tried, and can be after this time; null if it was tried. */
  putOffMs: number | null;
}

type StillMine = (remainingMs: number) => boolean;

/** Wait for another mail to end. */
const BUSY_MS = 1000;
/**
 * Mails of an account that are sent at once: while the server is silent,
 * half of the places of the account are left for webhooks.
 */
const MAILS_AT_ONCE = 2;
/** Notifications of which the events that PagerDuty took are remembered. */
const MAX_STARTED = 1000;
/** Events that are sent at once. */
const EVENTS_AT_ONCE = 4;

/** The ways to the receivers of notifications. Requests are checked and classified like deliveries. */
export class Channels {
  readonly #parts: ChannelsParts;
  readonly #pace = new MailPace();
  /** The account of each mail that is being sent. */
  readonly #mailing: string[] = [];
  /** Number of events that PagerDuty has taken, by the id of a notification that is to be sent again. */
  readonly #started = new Map<string, number>();

  constructor(parts: ChannelsParts) {
    this.#parts = parts;
  }

  /**
   * @param secret the signing secret, or the routing key
   * @returns null if the attempt was abandoned, because the lease could have ended
   */
  async send(notification: ClaimedNotification, secret: string, stillMine: StillMine): Promise<Tried | null> {
    const { target } = notification;
    if (target.type === 'email') return this.#mail(notification, target.to, stillMine);
    if (target.type === 'pagerduty') {
      const { id, content } = notification;
      const { pageUrl } = this.#parts;
      const events = eventsOf(id, content, { routingKey: secret, severity: target.severity, pageUrl });
      return this.#incidents(notification, events, stillMine);
    }
    return this.#webhook(notification, secret, stillMine);
  }

  #webhook(notification: ClaimedNotification, secret: string, stillMine: StillMine): Promise<Tried | null> {
    const { id, accountId, content, format, webhookUrl: url } = notification;
    const { pageUrl } = this.#parts;
    const message = format === 'slack' ? slackMessageOf(content, pageUrl) : messageOf(id, content, pageUrl);
    return this.#post({ accountId, url, secret, body: bytesOf(message), stillMine });
  }

  /** Continues with the events that PagerDuty has not taken yet. It drops repeated ones by their `dedup_key`. */
  async #incidents(
    { id, accountId, content }: ClaimedNotification,
    events: readonly object[],
    stillMine: StillMine,
  ): Promise<Tried | null> {
    // The two events of a test are about one incident, so they keep their order.
    const atOnce = content.type === 'test' ? 1 : EVENTS_AT_ONCE;
    for (let at = this.#started.get(id) ?? 0; at < events.length; at += atOnce) {
      const answers = await Promise.all(
        events.slice(at, at + atOnce).map((event) =>
          // The key is in the body, and nothing signs it.
          this.#post({
            accountId,
            url: this.#parts.pagerDutyUrl,
            secret: '',
            test: { signs: null },
            body: bytesOf(event),
            stillMine,
          }),
        ),
      );
      if (answers.includes(null)) return at === 0 ? null : failed('timeout');
      const refused = answers.find((answer) => answer?.isSent === false);
      if (refused != null) return refused;
      if (this.#started.size >= MAX_STARTED) this.#started.clear();
      this.#started.set(id, at + atOnce);
    }
    this.#started.delete(id);
    return { ...failed(null), isSent: true };
  }

  async #post(request: Parameters<Sender['send']>[0]): Promise<Tried | null> {
    const { db, sender } = this.#parts;
    const result = await sender.send(request);
    if (result.abandoned) return null;
    const outcome = classify(result.answer, await databaseTime(db));
    const { statusCode } = outcome;
    if (outcome.kind === 'accepted') return { ...failed(null), isSent: true, statusCode };
    if (outcome.kind !== 'backpressure') return { ...failed(outcome.error), statusCode };
    return { ...failed(`HTTP ${statusCode}`), statusCode, retryAfterMs: outcome.retryAfterMs };
  }

  async #mail(
    { id, accountId, content }: ClaimedNotification,
    to: readonly string[],
    stillMine: StillMine,
  ): Promise<Tried | null> {
    const { mailer, pageUrl } = this.#parts;
    if (mailer === null) return failed('smtp_not_set');
    const mailing = this.#mailing.filter((sender) => sender === accountId).length;
    if (mailer.isBusy || mailing >= MAILS_AT_ONCE) return { ...failed(null), putOffMs: BUSY_MS };
    const waitMs = this.#pace.take(accountId, to.length);
    if (waitMs > 0) return { ...failed('too_many_mails'), putOffMs: waitMs };
    const mail = mailOf(id, content, pageUrl, mailer.domain);
    this.#mailing.push(accountId);
    const sending = mailer.send({ mail, to, stillMine: () => stillMine(mailer.timeoutMs) });
    const result = await sending.finally(() => this.#mailing.splice(this.#mailing.indexOf(accountId), 1));
    return result === null ? null : { ...failed(result.error), isSent: result.isSent };
  }
}

function failed(error: string | null): Tried {
  return { isSent: false, statusCode: null, error, retryAfterMs: null, putOffMs: null };
}

function bytesOf(message: object): Buffer {
  return Buffer.from(JSON.stringify(message));
}
