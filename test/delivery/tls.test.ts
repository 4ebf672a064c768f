import type { AddressInfo } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { Lookup } from '../../src/delivery/resolver.ts';
import { createSender, type Sender } from '../../src/delivery/send.ts';
import { createTestSender } from '../../src/delivery/test-request.ts';
import { createCertificate } from '../support/certificate.ts';
import { startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait-for.ts';

/** F-16. */

const opened: { close(): Promise<void> }[] = [];
const LOOKUP: Lookup = (_hostname, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]);
const tlsError = (code?: string) => {
  const answer = { kind: 'no_answer', error: 'tls_error', ...(code === undefined ? {} : { code }) };
  return { answer, responseBody: null };
};
const VALID = createCertificate({ names: ['hooks.test', '127.0.0.1'] });

const CHECK = {
  accountId: 'a',
  id: 'i',
  queueId: 'q',
  name: 'orders',
  ackTimeout: null,
  now: new Date(),
  signingSecret: 's',
  nextSigningSecret: null,
  standardWebhooks: false,
};

function setup(ca?: string): Sender {
  const sender = createSender({
    timeoutMs: 5000,
    signatureHeader: 'x-service-signature',
    allowCidrs: ['127.0.0.0/8'],
    lookup: LOOKUP,
    ca,
  });
  opened.push(sender);
  return sender;
}

async function secureReceiver(tls: { key: string; cert: string }) {
  const receiver = await startReceiver({ tls });
  opened.push(receiver);
  return receiver;
}

function post(sender: Sender, url: string) {
  return sender.send({ url, secret: 's', body: Buffer.from('{}') });
}

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

describe('a trusted certificate', () => {
  it.each(['hooks.test', '127.0.0.1'])('is accepted for %s, and the connection reused', async (host) => {
    const receiver = await secureReceiver(VALID);
    const sender = setup(VALID.cert);
    for (let n = 0; n < 5; n += 1) {
      const result = await post(sender, `https://${host}:${receiver.port}/`);
      expect(result).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
    }
    expect(receiver.connections).toBe(1);
  });

  it('is accepted for a name with a dot at its end, which the server is not sent', async () => {
    const names: (string | false)[] = [];
    const server = createServer(VALID, (socket) => {
      names.push((socket as TLSSocket & { servername: string | false }).servername);
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: async () => void server.close() });
    const { port } = server.address() as AddressInfo;
    const answer = { kind: 'answered', statusCode: 200 };
    expect(await post(setup(VALID.cert), `https://hooks.test.:${port}/`)).toMatchObject({ answer });
    expect(names).toEqual(['hooks.test']);
  });

  it('is refused for another host', async () => {
    const receiver = await secureReceiver(VALID);
    expect(await post(setup(VALID.cert), `https://other.test:${receiver.port}/`)).toMatchObject(
      tlsError('ERR_TLS_CERT_ALTNAME_INVALID'),
    );
    expect(receiver.requests).toHaveLength(0);
  });

  it.each([
    ['expired', new Date('2020-01-01'), new Date('2021-01-01'), 'CERT_HAS_EXPIRED'],
    ['not valid yet', new Date('2045-01-01'), new Date('2046-01-01'), 'CERT_NOT_YET_VALID'],
  ])('is refused when it is %s, and the code says so', async (_name, notBefore, notAfter, code) => {
    const certificate = createCertificate({ names: ['hooks.test'], notBefore, notAfter });
    const receiver = await secureReceiver(certificate);
    expect(await post(setup(certificate.cert), `https://hooks.test:${receiver.port}/`)).toMatchObject(tlsError(code));
    expect(receiver.requests).toHaveLength(0);
  });
});

it('the end of a certificate is told by a test request, also over a connection that is open already', async () => {
  const notAfter = new Date('2045-06-01T12:00:00Z');
  const certificate = createCertificate({ names: ['hooks.test'], notAfter });
  const receiver = await secureReceiver(certificate);
  const plain = await startReceiver();
  opened.push(plain);
  const check = createTestSender(setup(certificate.cert));
  const endOf = async (webhookUrl: string) => (await check({ ...CHECK, webhookUrl })).certificateEndsAt;
  for (let n = 0; n < 2; n += 1) expect(await endOf(`https://hooks.test:${receiver.port}/`)).toEqual(notAfter);
  expect(receiver.connections).toBe(1);
  expect(await endOf(plain.url)).toBeNull();
  expect(await endOf('https://127.0.0.1:9/')).toBeNull();
});

it('a certificate that expires is refused by the next connection, which resumes no session', async () => {
  const connectInTime = async (validMs: number) => {
    const notAfter = new Date(Date.now() + validMs);
    const certificate = createCertificate({ names: ['hooks.test'], notAfter });
    const receiver = await secureReceiver(certificate);
    const sender = setup(certificate.cert);
    const url = `https://hooks.test:${receiver.port}/`;
    receiver.respondWith({ headers: { connection: 'close' } });
    const first = await post(sender, url);
    // On a busy machine it may have expired already.
    const isLate = Date.now() > notAfter.getTime() - 1000;
    if (!isLate) expect(first).toMatchObject({ answer: { kind: 'answered', statusCode: 200 } });
    return isLate ? null : { notAfter, receiver, sender, url };
  };
  let validMs = 3000;
  const { notAfter, receiver, sender, url } = await waitFor(() => {
    validMs += 1000;
    return connectInTime(validMs);
  });
  await waitFor(() => Date.now() > notAfter.getTime() + 1000);
  expect(await post(sender, url)).toMatchObject(tlsError('CERT_HAS_EXPIRED'));
  expect(receiver.requests).toHaveLength(1);
});

describe('refused', () => {
  it('a self-signed certificate, also when the environment turns verification off', async () => {
    const receiver = await secureReceiver(VALID);
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await post(setup(), `https://hooks.test:${receiver.port}/`)).toMatchObject(
        tlsError('DEPTH_ZERO_SELF_SIGNED_CERT'),
      );
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
    expect(receiver.requests).toHaveLength(0);
  });

  it('TLS 1.0', async () => {
    const server = createServer({
      ...VALID,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: () => new Promise((resolve) => server.close(() => resolve())) });
    const { port } = server.address() as AddressInfo;
    expect(await post(setup(VALID.cert), `https://hooks.test:${port}/`)).toMatchObject(tlsError());
  });

  it('plain HTTP where TLS is expected', async () => {
    const receiver = await startReceiver();
    opened.push(receiver);
    expect(await post(setup(), `https://hooks.test:${receiver.port}/`)).toMatchObject(tlsError());
    expect(receiver.requests).toHaveLength(0);
  });

  it('TLS where plain HTTP is expected', async () => {
    const receiver = await secureReceiver(VALID);
    const result = await post(setup(VALID.cert), `http://hooks.test:${receiver.port}/`);
    expect(result).toMatchObject({ answer: { kind: 'no_answer' }, responseBody: null });
    expect(receiver.requests).toHaveLength(0);
  });
});
