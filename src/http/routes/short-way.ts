import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import type { Account } from '../../domain/account.ts';
import { keyIn } from '../guards/authentication.ts';
import type { CountRequest } from '../guards/request-limits.ts';
import type { UnreadAnswers } from '../guards/unread-answers.ts';
import { type Answer, type Locals, localsOf } from '../locals.ts';
import { onceAnswered } from '../once-answered.ts';
import type { SendJson } from '../send-json.ts';
import { noteAccount } from '../server/open-connections.ts';
import type { RestServices } from './rest-services.ts';

/** The parts of the full way that the short ones use too. */
export interface ShortParts {
  services: RestServices;
  maxBodyBytes: number;
  unread: UnreadAnswers;
  countRequest: CountRequest;
  setCommonHeaders(res: ServerResponse): void;
  send: SendJson;
  onChange: ((account: Account) => void) | undefined;
}

/** A route with a short way. `Target` is what its path names. */
interface ShortRoute<Target> {
  /** Pattern of its path. */
  path: string;
  /** @returns null if the request is another one, or unusual */
  target(req: IncomingMessage): Target | null;
  may(account: Account, target: Target): boolean;
  /** The last step before the body is read. @returns false if it has refused the request */
  receive?(req: IncomingMessage, res: Answer): boolean;
  /** @throws what the full way would answer with an error */
  carryOut(target: Target, req: IncomingMessage, res: Answer): Promise<'answered' | 'unusual body'>;
}

/**
 * Takes ordinary requests of a route through the steps of the full way, in the same order, without Express and ts-rest
 * (docs/decisions/0043). All other requests go the full way: untouched, or, if the body or an error shows it, from the
 * step that they have reached. So every refusal comes from the full way, and nothing is done twice.
 */
export function shortWay<Target>(
  parts: ShortParts,
  route: ShortRoute<Target>,
): (full: RequestListener) => RequestListener {
  const { services, unread, countRequest, setCommonHeaders, onChange } = parts;
  return (full) => (req, res) => {
    const target = route.target(req);
    const key = target === null ? undefined : keyIn(req);
    const account = key === undefined ? null : services.accounts.authenticated(key);
    const knownAt = performance.now();
    if (
      target === null ||
      account === null ||
      !route.may(account, target) ||
      !unread.hasRoom(account.id) ||
      // The last condition, because it counts the request if it allows it. Otherwise the full way may ask again.
      countRequest(account, knownAt) > 0
    ) {
      full(req, res);
      return;
    }
    noteAccount(req.socket, account.id);
    const locals: Locals = { ...localsOf(res), account, route: route.path, knownAt };
    const answer: Answer = Object.assign(res, { locals });
    setCommonHeaders(res);
    if (onChange !== undefined) onceAnswered(res, () => onChange(account));
    if (route.receive?.(req, answer) === false) return;
    route
      .carryOut(target, req, answer)
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      .then((handedOver) => {
        if (handedOver === 'answered') return;
        locals.handedOver = handedOver;
        full(req, res);
      });
  };
}

/** A step of the full way that a short way has already taken with the requests that it hands over. */
export function onFullWay(step: RequestHandler): RequestHandler {
  return (req, res, next) => {
    const { handedOver } = localsOf(res);
    if (handedOver === undefined) step(req, res, next);
    else next(handedOver === 'unusual body' ? undefined : handedOver);
  };
}
