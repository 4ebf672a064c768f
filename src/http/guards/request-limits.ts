import type { RequestHandler } from 'express';
import type { Account } from '../../domain/account.ts';
import { HttpRefusal } from '../errors.ts';
import { accountOf } from './authentication.ts';

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
  readonly #allowances = new Map<string, Allowance>();

  /** Milliseconds until a request of the holder is allowed; 0 if one is allowed now. */
  waitMs(holder: string, now: number, perSecond: number): number {
    return Math.max(0, (1 - this.#left(holder, now, perSecond)) / perSecond) * 1000;
  }

  take(holder: string, now: number, perSecond: number): void {
    const left = this.#left(holder, now, perSecond) - 1;
    // The holder becomes the newest entry, so the oldest one has been idle for longest.
    this.#allowances.delete(holder);
    this.#allowances.set(holder, { left, at: now });
    const [oldest] = this.#allowances.keys();
    if (this.#allowances.size > MAX_REMEMBERED && oldest !== undefined) this.#allowances.delete(oldest);
  }

  #left(holder: string, now: number, perSecond: number): number {
    const known = this.#allowances.get(holder);
    if (known === undefined) return perSecond;
    return Math.min(perSecond, known.left + ((now - known.at) / 1000) * perSecond);
  }
}

/** Counts a request of a client, if it is allowed, and returns 0; otherwise returns the milliseconds to wait. */
export type CountRequest = (client: Account, now: number) => number;

export function createRequestLimits({ ofKey, ofAccount }: RequestRates): CountRequest {
  const keys = new RequestRate();
  const accounts = new RequestRate();
  return ({ id, actor, requestsPerSecond }, now) => {
    const key = ofKey !== null && actor.type === 'api_key' ? actor.id : null;
    const ofThis = requestsPerSecond ?? ofAccount;
    const keyWaitMs = key === null || ofKey === null ? 0 : keys.waitMs(key, now, ofKey);
    const waitMs = Math.max(keyWaitMs, ofThis === null ? 0 : accounts.waitMs(id, now, ofThis));
    // A refused request takes nothing from either, so a client that repeats it too early does not wait for longer.
    if (waitMs > 0) return waitMs;
    if (key !== null && ofKey !== null) keys.take(key, now, ofKey);
    if (ofThis !== null) accounts.take(id, now, ofThis);
    return 0;
  };
}

/**
 * Limits the requests of a key and of an account, before their bodies are read. Accounts without a limit cost a
 * comparison: the limit of an account is read with its credential.
 */
export function requestLimits(count: CountRequest): RequestHandler {
  return (req, res, next) => {
    const waitMs = count(accountOf(res), performance.now());
    if (waitMs === 0) {
      next();
      return;
    }
    const seconds = Math.max(1, Math.ceil(waitMs / 1000));
    res.setHeader('retry-after', String(seconds));
    const done = req.method === 'GET' ? '' : 'nothing was stored, ';
    next(new HttpRefusal(429, `too many requests: ${done}try again in ${seconds} s`));
  };
}
