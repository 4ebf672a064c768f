import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';

const TIMEOUT_MS = 15_000;
const KEEP_ALIVE_MS = 4000;

/** The service's envelope, signed and posted; rejects unless the answer is 2xx. */
export function createDelivery({ url, secret, concurrency }) {
  const dispatcher = new Agent({
    connections: concurrency,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
  });

  return async (job, attempt) => {
    const { id, queue, payload, maxAttempts, createdAt } = job;
    const body = Buffer.from(JSON.stringify({ id, queue, payload, attempt, maxAttempts, createdAt }));
    const answer = await request(url, {
      dispatcher,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'bench',
        'x-service-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      },
      body,
    });
    await answer.body.dump();
    if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`HTTP ${answer.statusCode}`);
  };
}
