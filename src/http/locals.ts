import type { ServerResponse } from 'node:http';
import type { Account } from '../domain/account.ts';
import type { SignedIn } from '../domain/session.ts';
import type { Publish } from './guards/admission.ts';

/** What the steps of a request leave for later ones, in the place that Express has for it. */
export interface Locals {
  account?: Account;
  signedIn?: SignedIn;
  /** Pattern of the path, if a step knows it that is not Express's. */
  route?: string;
  /** When the key was checked, as `performance.now()`. */
  knownAt?: number;
  /** Number of the turn in which a publish proceeded; undefined if it did not wait. */
  turn?: number;
  publish?: Publish;
}

export type Answer = ServerResponse & { locals: Locals };

/** Returns the locals of an answer; empty ones if no step has left any. */
export function localsOf(res: ServerResponse & { locals?: Locals }): Locals {
  return res.locals ?? {};
}
