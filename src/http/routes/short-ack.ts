import type { IncomingMessage, RequestListener } from 'node:http';
import { validateResponse } from '@ts-rest/core';
import { contract } from '../../contract/index.ts';
import { ordinary } from '../../contract/ordinary.ts';
import { isId } from '../../domain/id.ts';
import { bodyOf, readBytes } from '../guards/body.ts';
import { mayReport } from '../guards/route-scopes.ts';
import type { Answer } from '../locals.ts';
import { ackJob } from './jobs.ts';
import { type ShortParts, shortWay } from './short-way.ts';

const ROUTE = contract.jobs.ack;
const [BEFORE_ID = '', AFTER_ID = ''] = ROUTE.path.split(':id');
const ordinaryBody = ordinary(ROUTE.body);
const ordinaryAnswer = ordinary(ROUTE.responses[200]);
const NO_BODY = Buffer.alloc(0);

/** The short way of an ack. */
export function shortAck(parts: ShortParts): (full: RequestListener) => RequestListener {
  return shortWay(parts, {
    path: ROUTE.path,
    target: (req) => jobOf(req, parts.maxBodyBytes),
    may: mayReport,
    carryOut: (jobId, req, res) => carryOut(parts, jobId, req, res),
  });
}

/** Returns the id of the job of an ordinary ack; null for any other request. */
function jobOf({ method, url = '', headers }: IncomingMessage, maxBodyBytes: number): string | null {
  if (method !== 'POST' || !url.startsWith(BEFORE_ID) || !url.endsWith(AFTER_ID)) return null;
  if (headers['transfer-encoding'] !== undefined || lengthOf(headers) > maxBodyBytes) return null;
  const id = url.slice(BEFORE_ID.length, -AFTER_ID.length);
  return isId(id) ? id : null;
}

function lengthOf(headers: IncomingMessage['headers']): number {
  return Number(headers['content-length'] ?? 0);
}

async function carryOut(
  { services, maxBodyBytes, send }: ShortParts,
  jobId: string,
  req: IncomingMessage,
  res: Answer,
): Promise<'answered' | 'unusual body'> {
  const bytes = lengthOf(req.headers) === 0 ? NO_BODY : await readBytes(req, maxBodyBytes);
  const given = bodyOf(bytes, ROUTE.metadata.body);
  const body = ordinaryBody(given);
  if (body === null) {
    (req as { body?: unknown }).body = given;
    return 'unusual body';
  }
  const response = await ackJob(services, jobId, body, { req, res });
  res.statusCode = response.status;
  send(res, ordinaryAnswer(response.body) ?? validateResponse({ appRoute: ROUTE, response }).body);
  return 'answered';
}
