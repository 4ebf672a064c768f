import dns from 'node:dns';
import type { AddressInfo } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { Answers } from '../../src/cli/listen/answers.ts';
import { createForwarder } from '../../src/cli/listen/forward.ts';
import { Refused, type WireAnswer, type WireDelivery } from '../../src/cli/listen/server.ts';
import { Tunnel } from '../../src/delivery/tunnel/tunnel.ts';
import { classify } from '../../src/domain/outcome.ts';
import { createCertificate } from '../support/certificate.ts';
import { startRawServer } from '../support/raw-server.ts';

/** `jobferry listen` reads the answers of a receiver on this machine as a worker does. */

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

const DELIVERY: WireDelivery = {
  id: '1',
  jobId: 'j',
  attempt: 1,
  headers: ['content-type', 'application/json'],
  body: '{}',
  timeoutMs: 5000,
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

type Found = (error: null, addresses: dns.LookupAddress[]) => void;

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
      deliveryId: '1',
      statusCode: 429,
      body: '',
      retryAfter: '9'.repeat(100),
      outcome: 'permanent',
    });
  });

  it('ends at the time limit of the delivery', async () => {
    const forwarder = await forwarderTo(() => '');
    const { answer } = await forwarder.send({ ...DELIVERY, timeoutMs: 100 });
    expect(answer).toEqual({ deliveryId: '1', error: 'timeout' });
  });

  it('passes on every final status of HTTP', async () => {
    const forwarder = await forwarderTo(() => 'HTTP/1.1 999 No\r\ncontent-length: 0\r\n\r\n');
    expect((await forwarder.send(DELIVERY)).answer).toEqual({ deliveryId: '1', statusCode: 999, body: '' });
  });

  it('sends a TLS server its name without the dot at its end', async () => {
    const names: string[] = [];
    const { key, cert } = createCertificate({ names: ['localhost'] });
    const SNICallback: TlsOptions['SNICallback'] = (name, callback) => {
      names.push(name);
      callback(null);
    };
    const server = createServer({ key, cert, SNICallback });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    // Few resolvers know `localhost.`.
    const resolver = vi
      .spyOn(dns, 'lookup')
      .mockImplementation(((_host: string, _options: object, callback: Found) =>
        callback(null, [{ address: '127.0.0.1', family: 4 }])) as unknown as typeof dns.lookup);
    onTestFinished(() => resolver.mockRestore());
    const { port } = server.address() as AddressInfo;
    const forwarder = createForwarder(new URL(`https://localhost.:${port}/`), null);
    opened.push({ close: async () => void server.close() }, forwarder);
    // The certificate is not known here.
    expect((await forwarder.send(DELIVERY)).answer).toEqual({ deliveryId: '1', error: 'tls_error' });
    expect(names).toEqual(['localhost']);
  });
});

it('an answer that the service refuses keeps no other one back', async () => {
  const [sent, refused]: [string[], string[]] = [[], []];
  const answer = async (_tunnelId: string, all: readonly WireAnswer[]) => {
    const ids = all.map(({ deliveryId }) => deliveryId);
    if (ids.includes('7')) throw new Refused('an odd answer');
    sent.push(...ids);
  };
  const answers = new Answers({ answer }, 't', (reason) => refused.push(reason));
  const ids = Array.from({ length: 20 }, (_, n) => String(n));
  await Promise.all(ids.map((deliveryId) => answers.add({ deliveryId })));
  expect(sent).toEqual(ids.filter((id) => id !== '7'));
  expect(refused).toEqual(['an odd answer']);
});

describe('the service', () => {
  it.each([
    ['no_descriptors', 'unsent'],
    ['no_local_port', 'unsent'],
    // A client must not blame the operator's network.
    ['proxy_unreachable', 'failed'],
    ['reset', 'failed'],
    ['another text', 'failed'],
  ])('takes %s of a client as %s', async (error, kind) => {
    const openedBy = { type: 'api_key', id: 'k', label: 'key' } as const;
    const facts = { id: 't', accountId: 'a', queueId: 'q', openedBy, isForced: false };
    const tunnel = new Tunnel(facts, { timeoutMs: 5000, signatureHeader: 'x-service-signature' });
    const sent = tunnel.send({ url: 'http://127.0.0.1/', secret: 's', body: Buffer.from('{}') });
    tunnel.answered({ id: '1', statusCode: null, retryAfter: null, outcome: null, body: null, error });
    const result = await sent;
    if (result.abandoned) throw new Error('abandoned');
    const isKnown = kind === 'unsent' || error === 'reset';
    const expected = isKnown ? error : 'network_error';
    expect(classify(result.answer, 0)).toEqual({ kind, statusCode: null, error: expected });
  });
});
