import { randomUUID } from 'node:crypto';
import { endAlertTurn, takeAlertTurn } from '../db/alerts/turn.ts';
import { repeat } from '../pacing/repeat.ts';
import { counts } from '../telemetry/counts/counts.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ChannelsParts } from './channels.ts';
import { Evaluator, type EvaluatorParts } from './evaluator.ts';
import { Notifier } from './notifier.ts';

/** A quicker evaluation is followed by no cooldown. */
const QUICK_MS = 250;
/** Length of a cooldown, as a multiple of the evaluation before it. */
const FACTOR = 20;
/** Longest cooldown: 20 times five statements of 1 s. Longer evaluations were waiting for a connection. */
const LONGEST_MS = 100_000;

/**
 * Accounts whose rules are not evaluated for a while, because that took long: one account has at most a twentieth of
 * the time, so that its rules do not delay the alerts of others.
 */
export class Cooldowns {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  isCoolingDown(accountId: string): boolean {
    const until = this.#until.get(accountId);
    if (until === undefined) return false;
    if (this.#now() < until) return true;
    this.#until.delete(accountId);
    return false;
  }

  /** Runs an evaluation of the account, and begins a cooldown of the account if it took long. */
  async after<T>(accountId: string, evaluation: () => Promise<T>): Promise<T> {
    const startedAt = this.#now();
    try {
      return await evaluation();
    } finally {
      const took = this.#now() - startedAt;
      if (took > QUICK_MS) this.#until.set(accountId, this.#now() + Math.min(took * FACTOR, LONGEST_MS));
    }
  }
}

export { Mailer } from './mailer.ts';
export { NOTIFICATION_TIMEOUT_MS } from './notifier.ts';

/** Accounts that are read at once. */
const PAGE = 100;
/** A round begins no further account after this. The next one continues there. */
const ROUND_MS = 10_000;
/** How often the turn is renewed; well below the 30 s after which another process takes it. */
const RENEW_MS = 5000;
/** How often the process with the turn looks for notifications that are due. */
const SEND_EVERY_MS = 1000;

interface AlertParts extends Omit<EvaluatorParts, 'holder' | 'log'>, Omit<ChannelsParts, 'db'> {
  log: Logger;
  /** Time from one round of evaluations to the next. */
  everyMs: number;
}

/**
 * Evaluates the rules of all accounts, and sends what has changed, in one process at a time, whatever its role: where
 * no worker runs, a process with the API does it.
 * @returns a function that stops it, and resolves when nothing is being sent
 */
export function startAlerts({ everyMs, ...parts }: AlertParts): () => Promise<void> {
  const { db, log } = parts;
  const holder = randomUUID();
  const evaluator = new Evaluator({ ...parts, holder });
  const cooldowns = new Cooldowns();
  const notifier = new Notifier(parts);
  let hasTurn = false;
  let renewedAt = 0;
  let isStopping = false;

  const renew = async (after: string | null) => {
    const stored = isStopping ? null : await takeAlertTurn(db, holder, after);
    hasTurn = stored !== null;
    renewedAt = performance.now();
    return stored;
  };

  const round = async () => {
    let after = await renew(null);
    const startedAt = performance.now();
    let page: string[] = [];
    while (after !== null && performance.now() - startedAt < ROUND_MS) {
      page = page.length > 0 ? page : await evaluator.next(after, PAGE);
      const account = page.shift();
      // After the last account, the next round begins with the first.
      after = account ?? '';
      if (account === undefined) break;
      if (cooldowns.isCoolingDown(account)) continue;
      hasTurn = await cooldowns
        .after(account, () => evaluator.evaluateAccount(account))
        .catch((err: unknown) => {
          counts.alertEvaluations.add('failed');
          log.warn({ err, accountId: account }, 'the alert rules of an account could not be evaluated');
          return hasTurn;
        });
      if (!hasTurn || isStopping) return;
    }
    if (after !== null) await renew(after);
  };

  const send = async () => {
    if (hasTurn && performance.now() - renewedAt >= RENEW_MS) await renew(null);
    if (hasTurn) await notifier.round();
  };

  const rounds = repeat(everyMs, log, 'evaluating alert rules', round);
  const sends = repeat(SEND_EVERY_MS, log, 'sending notifications of alerts', send);
  return async () => {
    isStopping = true;
    await Promise.all([rounds.stop(), sends.stop()]);
    await notifier.idle();
    await endAlertTurn(db, holder).catch((err: unknown) => log.debug({ err }, 'the turn of alerts ends by itself'));
  };
}
