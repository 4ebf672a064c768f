import type { RequestHandler } from 'express';
import type { Account } from '../domain/account.ts';
import { accountOf } from './authentication.ts';
import { HttpRefusal } from './errors.ts';

/** Requests per second in this process; null for no limit. */
export interface RequestRates {
  ofKey: number | null;
  ofAccount: number | null;
}

/** Keys and accounts that are remembered. One that is forgotten begins with a full second again. */
const MAX_REMEMBERED = 10_000;

interface Allowance {
  /** Requests that may come at once. */
  left: number;
  at: number;
}

/** Allows so many requests per second to each holder, at most those of one second at once. */
export class RequestRate {
  readonly #perSecond: number;
  readonly #allowances = new Map<string, Allowance>();

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  /** Milliseconds until a request of the holder is allowed; 0 if one is allowed now. */
  waitMs(holder: string, now: number): number {
    return Math.max(0, (1 - this.#left(holder, now)) / this.#perSecond) * 1000;
  }

  take(holder: string, now: number): void {
    const left = this.#left(holder, now) - 1;
    // The holder becomes the newest entry, so the oldest one has been idle for longest.
    this.#allowances.delete(holder);
    this.#allowances.set(holder, { left, at: now });
    const [oldest] = this.#allowances.keys();
    if (this.#allowances.size > MAX_REMEMBERED && oldest !== undefined) this.#allowances.delete(oldest);
  }

  #left(holder: string, now: number): number {
    const known = this.#allowances.get(holder);
    if (known === undefined) return this.#perSecond;
    return Math.min(this.#perSecond, known.left + ((now - known.at) / 1000) * this.#perSecond);
  }
}

/** Returns how a request of a client is counted: its milliseconds to wait; 0 if it was allowed. */
export function createRequestLimits({ ofKey, ofAccount }: RequestRates): (client: Account, now: number) => number {
  const keys = ofKey === null ? null : new RequestRate(ofKey);
  const accounts = ofAccount === null ? null : new RequestRate(ofAccount);
  return ({ id, actor }, now) => {
    const key = actor.type === 'api_key' ? actor.id : null;
    const waitMs = Math.max(key === null ? 0 : (keys?.waitMs(key, now) ?? 0), accounts?.waitMs(id, now) ?? 0);
    // A refused request takes nothing from either, so a client that repeats it too early does not wait for longer.
    if (waitMs > 0) return waitMs;
    if (key !== null) keys?.take(key, now);
    accounts?.take(id, now);
    return 0;
  };
}

/** Limits the requests that `authenticated` admits, before their bodies are read. Without limits it returns `authenticated`. */
export function limiting(rates: RequestRates): (authenticated: RequestHandler) => RequestHandler {
  if (rates.ofKey === null && rates.ofAccount === null) return (authenticated) => authenticated;
  const count = createRequestLimits(rates);
  return (authenticated) => (req, res, next) => {
    authenticated(req, res, (error?: unknown) => {
      const waitMs = error === undefined ? count(accountOf(res), performance.now()) : 0;
      if (waitMs === 0) {
        next(error);
        return;
      }
      const seconds = Math.max(1, Math.ceil(waitMs / 1000));
      res.setHeader('retry-after', String(seconds));
      const done = req.method === 'GET' ? '' : 'nothing was stored, ';
      next(new HttpRefusal(429, `too many requests: ${done}try again in ${seconds} s`));
    });
  };
}
