import { setTimeout as sleep } from 'node:timers/promises';
import type { Response } from 'express';
import { writeJson } from '../contract/index.ts';
import type { Account } from '../domain/account.ts';
import { keyIn, needsSecondCheck, TOO_MUCH_UNREAD, unauthorized } from './guards/authentication.ts';
import { LONG_ANSWER, type UnreadAnswers } from './guards/unread-answers.ts';
import type { RestServices } from './routes/rest-services.ts';

/** Milliseconds that an answer may wait for the second check of its key. */
const SECOND_CHECK_MS = 500;

/**
 * Replaces Express's `res.json`, which would change source text (D26). If the account has too many unread answers, a long
 * result of a GET is not sent. The result of a write is always sent.
 */
export function sendJson(unread: UnreadAnswers, services: RestServices | null): Response['json'] {
  return function (this: Response, body: unknown): Response {
    if (services !== null && this.statusCode < 400 && needsSecondCheck(this)) {
      const refuse = () => {
        const { status, message } = unauthorized();
        this.setHeader('www-authenticate', 'Bearer');
        this.status(status).json({ error: message });
      };
      // If the check takes too long or fails, the answer is sent: the key was valid when the request was carried out.
      Promise.race([
        services.accounts.authenticate(keyIn(this.req) ?? ''),
        sleep(SECOND_CHECK_MS, undefined, { ref: false }),
      ])
        .then(
          (account) => (account === null ? refuse() : this.json(body)),
          () => this.json(body),
        )
        .catch(() => this.destroy());
      return this;
    }
    const text = writeJson(body);
    const bytes = Buffer.byteLength(text);
    const { account } = this.locals as { account?: Account };
    const isLong = bytes >= LONG_ANSWER && account !== undefined;
    if (isLong && this.req.method === 'GET' && !unread.hasRoom(account.id)) {
      this.setHeader('retry-after', '1');
      return this.status(503).json({ error: TOO_MUCH_UNREAD });
    }
    this.setHeader('content-type', 'application/json; charset=utf-8');
    this.setHeader('content-length', bytes);
    this.end(text);
    if (isLong) unread.note(this, account.id);
    return this;
  };
}
