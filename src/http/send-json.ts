import type { ServerResponse } from 'node:http';
import { writeJson } from '../contract/index.ts';
import { HttpRefusal } from './errors.ts';
import { TOO_MUCH_UNREAD, unauthorized } from './guards/authentication.ts';
import type { PublishTurns } from './guards/publish-turns.ts';
import { holderOfKey, needsSecondCheck, secondCheck } from './guards/second-check.ts';
import { isQueued, LONG_ANSWER, type UnreadAnswers } from './guards/unread-answers.ts';
import { localsOf } from './locals.ts';
import type { RestServices } from './routes/rest-services.ts';

const NOT_CHECKED = new HttpRefusal(503, 'the database did not answer in time');

/** Sends an answer as JSON, with its present status. */
export type SendJson = (res: ServerResponse, body: unknown) => void;

/**
 * Takes the place of Express's `res.json`, which would change source text (D26). If the account has too many unread
 * answers, a long result of a GET is not sent. The result of a write is always sent.
 */
export function sendJson(
  unread: UnreadAnswers,
  services: RestServices | null,
  turns: Pick<PublishTurns, 'answered'> | null,
): SendJson {
  const refuse = (res: ServerResponse, { status, message }: HttpRefusal) => {
    if (status === 401) res.setHeader('www-authenticate', 'Bearer');
    else res.setHeader('retry-after', '1');
    res.statusCode = status;
    send(res, { error: message });
  };
  return send;

  function send(res: ServerResponse, body: unknown): void {
    if (services !== null && res.statusCode < 400 && needsSecondCheck(res)) {
      const isRead = res.req.method === 'GET';
      secondCheck(holderOfKey(services, res.req), isRead ? 'read' : 'write')
        .then((standing) => {
          if (standing === 'ended') refuse(res, unauthorized());
          else if (standing === 'unknown' && isRead) refuse(res, NOT_CHECKED);
          else send(res, body);
        })
        .catch(() => res.destroy());
      return;
    }
    const text = writeJson(body);
    const bytes = Buffer.byteLength(text);
    const { account } = localsOf(res);
    const isLong = bytes >= LONG_ANSWER && account !== undefined;
    if (isLong && res.req.method === 'GET' && !unread.hasRoom(account.id)) {
      refuse(res, new HttpRefusal(503, TOO_MUCH_UNREAD));
      return;
    }
    res.setHeader('content-type', 'application/json; charset=utf-8');
    res.setHeader('content-length', bytes);
    res.end(text);
    if (account !== undefined && (isLong || isQueued(res))) unread.note(res, account.id);
    turns?.answered(res);
  }
}
