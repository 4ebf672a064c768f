import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeJson } from '../contract/index.ts';
import { keyIn, needsSecondCheck, TOO_MUCH_UNREAD, unauthorized } from './guards/authentication.ts';
import type { PublishTurns } from './guards/publish-turns.ts';
import { isQueued, LONG_ANSWER, type UnreadAnswers } from './guards/unread-answers.ts';
import { localsOf } from './locals.ts';
import type { RestServices } from './routes/rest-services.ts';

/** Milliseconds that an answer may wait for the second check of its key. */
const SECOND_CHECK_MS = 500;

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
  return function send(res, body) {
    if (services !== null && res.statusCode < 400 && needsSecondCheck(res)) {
      const refuse = () => {
        const { status, message } = unauthorized();
        res.setHeader('www-authenticate', 'Bearer');
        res.statusCode = status;
        send(res, { error: message });
      };
      // If the check takes too long or fails, the answer is sent: the key was valid when the request was carried out.
      Promise.race([
        services.accounts.authenticate(keyIn(res.req) ?? ''),
        sleep(SECOND_CHECK_MS, undefined, { ref: false }),
      ])
        .then(
          (account) => (account === null ? refuse() : send(res, body)),
          () => send(res, body),
        )
        .catch(() => res.destroy());
      return;
    }
    const text = writeJson(body);
    const bytes = Buffer.byteLength(text);
    const { account } = localsOf(res);
    const isLong = bytes >= LONG_ANSWER && account !== undefined;
    if (isLong && res.req.method === 'GET' && !unread.hasRoom(account.id)) {
      res.setHeader('retry-after', '1');
      res.statusCode = 503;
      send(res, { error: TOO_MUCH_UNREAD });
      return;
    }
    res.setHeader('content-type', 'application/json; charset=utf-8');
    res.setHeader('content-length', bytes);
    res.end(text);
    if (account !== undefined && (isLong || isQueued(res))) unread.note(res, account.id);
    turns?.answered(res);
  };
}
