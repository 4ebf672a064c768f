import type { Request, RequestHandler, Response } from 'express';
import { contract } from '../contract/index.ts';
import { accountOf } from './authentication.ts';

/** So much work may lie before the process, in seconds of what it does at the moment. */
const WORTH_SECONDS = 0.3;
/** Fewer are never too many. */
const MIN_LIMIT = 100;
/** What is above the limit for less than this is a burst, and is waited out. */
const BURST_MS = 500;
const RATE_WINDOW_MS = 250;

/**
 * How many publishes a process takes on. When they come faster than they are answered, more of them only make each answer
 * later, until none comes in time; so what is too many is turned away before its body is read, which costs less than
 * doing it. Of the accounts those go first that have the most under way.
 */
export class Admission {
  readonly #ofAccount = new Map<string, number>();
  #underWay = 0;
  #answered = 0;
  #windowStart = performance.now();
  #perSecond = 0;
  /** When there was last no more than the limit. */
  #calmAt = performance.now();

  /** False: turn it away. True: `leave` has to be called in the end. */
  enter(account: string): boolean {
    const own = this.#ofAccount.get(account) ?? 0;
    const limit = Math.max(this.#perSecond * WORTH_SECONDS, MIN_LIMIT);
    const now = performance.now();
    if (this.#underWay < limit) this.#calmAt = now;
    else if (now - this.#calmAt > BURST_MS && own >= limit / Math.max(this.#ofAccount.size, 1)) return false;
    this.#ofAccount.set(account, own + 1);
    this.#underWay += 1;
    return true;
  }

  leave(account: string): void {
    const left = (this.#ofAccount.get(account) ?? 1) - 1;
    if (left === 0) this.#ofAccount.delete(account);
    else this.#ofAccount.set(account, left);
    this.#underWay -= 1;
    this.#answered += 1;
    const now = performance.now();
    const elapsed = now - this.#windowStart;
    if (elapsed < RATE_WINDOW_MS) return;
    this.#perSecond = this.#perSecond / 2 + (this.#answered * 1000) / elapsed / 2;
    this.#answered = 0;
    this.#windowStart = now;
  }
}

const REFUSAL = JSON.stringify({
  error: 'too many jobs are being published at the moment; nothing was stored, try again',
});

/** Comes after the key, which says whose request it is, and before the body. */
export function admission(): RequestHandler {
  const publishes = new Admission();
  return (req, res, next) => {
    if (!isPublish(req)) {
      next();
      return;
    }
    const { id } = accountOf(res);
    if (!publishes.enter(id)) {
      refuse(res);
      return;
    }
    res.once('close', () => publishes.leave(id));
    next();
  };
}

function isPublish(req: Request): boolean {
  return (req as { tsRestRoute?: unknown }).tsRestRoute === contract.jobs.publish;
}

/** As cheap as can be: it is what an overloaded process does most of the time. */
function refuse(res: Response): void {
  res.writeHead(503, {
    'retry-after': '1',
    'content-type': 'application/json; charset=utf-8',
    'content-length': REFUSAL.length,
  });
  res.end(REFUSAL);
}
