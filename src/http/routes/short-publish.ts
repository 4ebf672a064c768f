import type { IncomingMessage, RequestListener } from 'node:http';
import { validateResponse } from '@ts-rest/core';
import { contract } from '../../contract/index.ts';
import { ordinary } from '../../contract/ordinary.ts';
import { LIMITS } from '../../domain/queue.ts';
import { parseBody, readBytes } from '../guards/body.ts';
import type { PublishTurns } from '../guards/publish-turns.ts';
import { mayPublish } from '../guards/route-scopes.ts';
import type { Answer } from '../locals.ts';
import { publishJob } from './jobs.ts';
import { type ShortParts, shortWay } from './short-way.ts';

const ROUTE = contract.jobs.publish;
const [BEFORE_NAME = '', AFTER_NAME = ''] = ROUTE.path.split(':queueName');
const ordinaryBody = ordinary(ROUTE.body);
const ordinaryAnswers = { 200: ordinary(ROUTE.responses[200]), 201: ordinary(ROUTE.responses[201]) };

type Parts = ShortParts & { turns: PublishTurns };

/** The short way of a publish. */
export function shortPublish(parts: Parts): (full: RequestListener) => RequestListener {
  return shortWay(parts, {
    path: ROUTE.path,
    target: (req) => queueOf(req, parts.maxBodyBytes),
    may: mayPublish,
    receive: parts.turns.receive,
    carryOut: (queueName, req, res) => carryOut(parts, queueName, req, res),
  });
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
