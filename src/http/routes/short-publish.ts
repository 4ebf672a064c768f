import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { validateResponse } from '@ts-rest/core';
import type { RequestHandler } from 'express';
import { contract } from '../../contract/index.ts';
import { ordinary } from '../../contract/ordinary.ts';
import type { Account } from '../../domain/account.ts';
import { LIMITS } from '../../domain/queue.ts';
import { keyIn } from '../guards/authentication.ts';
import { parseBody, readBytes } from '../guards/body.ts';
import type { PublishTurns } from '../guards/publish-turns.ts';
import type { CountRequest } from '../guards/request-limits.ts';
import { mayPublish } from '../guards/route-scopes.ts';
import type { UnreadAnswers } from '../guards/unread-answers.ts';
import { type Answer, type Locals, localsOf } from '../locals.ts';
import type { SendJson } from '../send-json.ts';
import { belongsTo } from '../server/open-connections.ts';
import { publishJob } from './jobs.ts';
import type { RestServices } from './rest-services.ts';

/** The parts of the full way that the short way uses too. */
interface Parts {
  services: RestServices;
  maxBodyBytes: number;
  unread: UnreadAnswers;
  countRequest: CountRequest;
  turns: PublishTurns;
  setCommonHeaders(res: ServerResponse): void;
  send: SendJson;
  onChange: ((account: Account) => void) | undefined;
}

const ROUTE = contract.jobs.publish;
const [BEFORE_NAME = '', AFTER_NAME = ''] = ROUTE.path.split(':queueName');
const ordinaryBody = ordinary(ROUTE.body);
const ordinaryAnswers = { 200: ordinary(ROUTE.responses[200]), 201: ordinary(ROUTE.responses[201]) };

/**
 * Takes ordinary publishes through the steps of the full way, in the same order, without Express and ts-rest
 * (docs/decisions/0043). All other requests go the full way: untouched, or, if the body or an error shows it, from the step that
 * they have reached. So every refusal comes from the full way, and no request is published twice.
 */
export function shortPublish(parts: Parts): (full: RequestListener) => RequestListener {
  const { services, maxBodyBytes, unread, countRequest, turns, setCommonHeaders, onChange } = parts;
  return (full) => (req, res) => {
    const queueName = queueOf(req, maxBodyBytes);
    const account = queueName === null ? null : services.accounts.authenticated(keyIn(req) ?? '');
    const knownAt = performance.now();
    if (
      queueName === null ||
      account === null ||
      !mayPublish(account, queueName) ||
      !unread.hasRoom(account.id) ||
      // The last condition, because it counts the request if it allows it. Otherwise the full way may ask again.
      countRequest(account, knownAt) > 0
    ) {
      full(req, res);
      return;
    }
    belongsTo(req.socket, account.id);
    const locals: Locals = { ...localsOf(res), account, route: ROUTE.path, knownAt };
    const answer: Answer = Object.assign(res, { locals });
    setCommonHeaders(res);
    if (onChange !== undefined) res.on('finish', () => onChange(account));
    if (!turns.receive(req, answer)) return;
    carryOut(parts, queueName, req, answer)
      .catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))))
      .then((handedOver) => {
        if (handedOver === 'answered') return;
        locals.handedOver = handedOver;
        full(req, res);
      });
  };
}

/** A step of the full way that the short way has already taken with the requests that it hands over. */
export function onFullWay(step: RequestHandler): RequestHandler {
  return (req, res, next) => {
    const { handedOver } = localsOf(res);
    if (handedOver === undefined) step(req, res, next);
    else next(handedOver === 'unusual body' ? undefined : handedOver);
  };
}

/** Returns the name of the queue of an ordinary publish; null for any other request. */
function queueOf({ method, url = '', headers }: IncomingMessage, maxBodyBytes: number): string | null {
  if (method !== 'POST' || !url.startsWith(BEFORE_NAME) || !url.endsWith(AFTER_NAME)) return null;
  if (headers['content-type'] !== 'application/json' || headers['content-encoding'] !== undefined) return null;
  const length = Number(headers['content-length'] ?? 0);
  if (length === 0 || length > maxBodyBytes) return null;
  const name = url.slice(BEFORE_NAME.length, -AFTER_NAME.length);
  return name.length <= LIMITS.queueNameLength && LIMITS.queueNamePattern.test(name) ? name : null;
}

/** @throws what the full way would answer with an error */
async function carryOut(
  { services, maxBodyBytes, turns, send }: Parts,
  queueName: string,
  req: IncomingMessage,
  res: Answer,
): Promise<'answered' | 'unusual body'> {
  const bytes = await readBytes(req, maxBodyBytes);
  const goesOn = turns.bodyRead(res, bytes.length);
  if (goesOn !== true && !(await goesOn)) return 'answered';
  const given = parseBody(bytes, 'payload');
  const body = ordinaryBody(given);
  if (body === null) {
    (req as { body?: unknown }).body = given;
    return 'unusual body';
  }
  const response = await publishJob(services, queueName, body, { req, res });
  res.statusCode = response.status;
  send(res, ordinaryAnswers[response.status](response.body) ?? validateResponse({ appRoute: ROUTE, response }).body);
  return 'answered';
}
