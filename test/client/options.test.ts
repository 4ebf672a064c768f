import { createHmac } from 'node:crypto';
import { expect, it } from 'vitest';
import { fetchHandler } from '../../packages/client/src/webhook/index.ts';

const SECRET = 'secret';
const JOB = { id: 'a'.repeat(24), queue: 'q', attempt: 1, maxAttempts: 3, payload: {}, createdAt: new Date(0) };

// As many seconds are no whole number of milliseconds, some only because 1.005 × 1000 is 1004.9999999999999.
it.each([1.005, 0.0015, 2.3, 0.0001])('takes deliveries with an ackTimeout of %d seconds', async (ackTimeout) => {
  const handle = fetchHandler(
    { mode: 'ack', secret: SECRET, baseUrl: 'http://127.0.0.1:9', apiKey: 'k', ackTimeout, onError: () => undefined },
    () => undefined,
  );
  const body = JSON.stringify(JOB);
  const signature = `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`;
  const request = new Request('http://x/', { method: 'POST', body, headers: { 'x-service-signature': signature } });
  expect((await handle(request, { waitUntil: () => undefined })).status).toBe(202);
});
