import { afterEach, describe, expect, it } from 'vitest';
import { createForwarder } from '../../src/listen/forward.ts';
import type { WireDelivery } from '../../src/listen/server.ts';
import { startRawServer } from '../support/raw-server.ts';

/** `jobferry listen` reads the answers of a receiver on this machine as a worker does. */

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

const DELIVERY: WireDelivery = {
  ...{ id: '1', jobId: 'j', attempt: 1, headers: ['content-type', 'application/json'], body: '{}', timeoutMs: 5000 },
};

/** @param onRequest gets the number of the request among all, and of its connection */
async function forwarderTo(onRequest: (request: number, connection: number) => string | null) {
  let [requests, connections] = [0, 0];
  const server = await startRawServer((socket) => {
    connections += 1;
    const connection = connections;
    socket.on('data', () => {
      requests += 1;
      const answer = onRequest(requests, connection);
      if (answer === null) socket.resetAndDestroy();
      else socket.write(answer);
    });
  });
  const forwarder = createForwarder(new URL(server.url), null);
  opened.push(server, forwarder);
  return forwarder;
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone';

describe('the forwarder of a tunnel', () => {
  it('passes over interim answers', async () => {
    const forwarder = await forwarderTo(() => `HTTP/1.1 100 Continue\r\n\r\n${OK}`);
    const { answer } = await forwarder.send(DELIVERY);
    expect(answer).toEqual({ deliveryId: '1', statusCode: 200, body: 'done' });
  });

  it('sends again what a connection that the receiver was closing did not take', async () => {
    const forwarder = await forwarderTo((request) => (request === 2 ? null : OK));
    for (let n = 0; n < 3; n += 1) expect((await forwarder.send(DELIVERY)).answer).toMatchObject({ statusCode: 200 });
  });

  it('passes on the headers that decide, cut to what the service takes', async () => {
    const head = `retry-after: ${'9'.repeat(200)}\r\nx-jobferry-outcome: Permanent`;
    const forwarder = await forwarderTo(() => `HTTP/1.1 429 Busy\r\n${head}\r\ncontent-length: 0\r\n\r\n`);
    const { answer } = await forwarder.send(DELIVERY);
    expect(answer).toEqual({
      ...{ deliveryId: '1', statusCode: 429, body: '', retryAfter: '9'.repeat(100), outcome: 'permanent' },
    });
  });

  it('ends at the time limit of the delivery', async () => {
    const forwarder = await forwarderTo(() => '');
    const { answer } = await forwarder.send({ ...DELIVERY, timeoutMs: 100 });
    expect(answer).toEqual({ deliveryId: '1', error: 'timeout' });
  });
});
