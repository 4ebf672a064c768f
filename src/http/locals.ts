import type { ServerResponse } from 'node:http';
import type { Account } from '../domain/account.ts';
import type { SignedIn } from '../domain/session.ts';
import type { Publish } from './guards/admission.ts';

/** Values that a step of a request stores for later steps, in the property that Express also uses. */
export interface Locals {
  account?: Account;
  signedIn?: SignedIn;
  /** Pattern of the path, if Express has not found the route. */
  route?: string;
  /** When the key was checked, as `performance.now()`. */
  knownAt?: number;
  /** Number of the turn in which a publish proceeded; undefined if it did not wait. */
  turn?: number;
  publish?: Publish;
  /** Milliseconds that the request has waited for its turn and for its key; undefined if it did not wait. */
  waitedMs?: number;
  /** Why the short way has handed the request over, after its body was read. */
  handedOver?: 'unusual body' | Error;
}

/** Shorter waits are not counted. */
const SHORT_MS = 50;

export type Answer = ServerResponse & { locals: Locals };

/** Returns the locals of an answer; empty ones if no step has left any. */
export function localsOf(res: ServerResponse & { locals?: Locals }): Locals {
  return res.locals ?? {};
}

/** Records that the request has waited since then, because its client waits for all of it together (I-37). */
export function addWait(res: ServerResponse & { locals?: Locals }, since: number): void {
  const ms = performance.now() - since;
  if (ms < SHORT_MS) return;
  res.locals ??= {};
  res.locals.waitedMs = (res.locals.waitedMs ?? 0) + ms;
}
