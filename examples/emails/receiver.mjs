// @ts-check
/** Receives the jobs of the queue emails, and sends a mail for each. */
import { createServer } from 'node:http';
import { Backpressure, expressHandler, Permanent } from '@jobferry/client/webhook';
import { createSend } from './transport.mjs';

const { JOBFERRY_SECRET: secret = '', PORT = '9103' } = process.env;
const { SMTP_URL, MAIL_FROM = 'hello@example.org' } = process.env;
/** Seconds of the hold if the mail server is busy. */
const PAUSE = 60;

const send = await createSend(SMTP_URL);

const handle = expressHandler(
  { secret },
  /** @param {import('@jobferry/client/webhook').Delivery<{ to: string, subject: string, text: string }>} delivery */
  async ({ job }) => {
    const { to, subject, text } = job.payload;
    if (!to?.includes('@')) throw new Permanent(`${to} is no mail address`);
    // The same in each attempt.
    const messageId = `<${job.id}@${MAIL_FROM.split('@').at(-1)}>`;
    await send({ from: MAIL_FROM, to, subject, text, messageId }).catch((error) => {
      throw outcomeOf(error);
    });
  },
);

/**
 * @param {{ message: string, command?: string, responseCode?: number }} error
 * @returns {unknown} what the receiver throws
 */
function outcomeOf(error) {
  const { message, command = '', responseCode = 0 } = error;
  if (responseCode >= 400 && responseCode < 500) return new Backpressure(PAUSE);
  // The server does not take this recipient. Other refusals, as of the password, are not the fault of the job.
  if (responseCode >= 500 && command.startsWith('RCPT')) return new Permanent(message);
  return error;
}

createServer(handle).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${PORT}/`));
