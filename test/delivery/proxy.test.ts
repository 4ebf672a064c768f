import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createSender, type Sender, type SenderOptions } from '../../src/delivery/send.ts';
import { createCertificate } from '../support/certificate.ts';
import { startReceiver } from '../support/receiver.ts';

/** An explicit proxy (R7): it resolves, checks and connects; Jobferry checks what is written in URLs. */

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

/** A proxy that takes every name for 127.0.0.1, or sends the given answer instead of opening the tunnel. */
async function startProxy(answer?: string | ((path: string | undefined) => string | undefined), at = 0) {
  const asked: { path: string | undefined; authorization: string | undefined }[] = [];
  const sockets = new Set<Socket>();
  let others = 0;
  const server = createServer((_req, res) => {
    others += 1;
    res.end();
  });
  server.on('connection', (socket: Socket) => sockets.add(socket));
  server.on('connect', (req: IncomingMessage, client: Socket) => {
    asked.push({ path: req.url, authorization: req.headers['proxy-authorization'] });
    client.on('error', () => undefined);
    const own = typeof answer === 'function' ? answer(req.url) : answer;
    if (own !== undefined) {
      client.write(own);
      return;
    }
    const upstream = connect(Number(req.url?.split(':').at(-1)), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    sockets.add(upstream);
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  opened.push({ close });
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    asked,
    close,
    get others() {
      return others;
    },
  };
}

function setup(options: Partial<SenderOptions>): Sender {
  const sender = createSender({
    timeoutMs: 5000,
    signatureHeader: 'x-service-signature',
    allowCidrs: [],
    // If this look-up is called, the proxy did not get to resolve the name.
    lookup: () => expect.fail('a name was resolved here'),
    ...options,
  });
  opened.push(sender);
  return sender;
}

async function receiverWith(tls?: { key: string; cert: string }) {
  const receiver = await startReceiver(tls === undefined ? {} : { tls });
  opened.push(receiver);
  return receiver;
}

const post = (sender: Sender, url: string, stillMine?: () => boolean) =>
  sender.send({ url, secret: 's', body: Buffer.from('{}'), stillMine });
const answered = { answer: { kind: 'answered', statusCode: 200 } };
const noAnswer = (error: string) => ({ answer: { kind: 'no_answer', error } });

describe('through a proxy', () => {
  it('goes every webhook, in a tunnel that is used again', async () => {
    const receiver = await receiverWith();
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: proxy.url });
    for (let n = 0; n < 3; n += 1) {
      expect(await post(sender, `http://hooks.test:${receiver.port}/a?b`)).toMatchObject(answered);
    }
    expect(receiver.requests.map(({ path, headers }) => [path, headers.host])).toEqual(
      Array(3).fill(['/a?b', `hooks.test:${receiver.port}`]),
    );
    expect(proxy.asked).toEqual([{ path: `hooks.test:${receiver.port}`, authorization: undefined }]);
    expect(proxy.others).toBe(0);
  });

  it('the certificate is that of the webhook, and is verified', async () => {
    const certificate = createCertificate({ names: ['hooks.test'] });
    const receiver = await receiverWith(certificate);
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: proxy.url, ca: certificate.cert });
    expect(await post(sender, `https://hooks.test:${receiver.port}/`)).toMatchObject(answered);
    expect(await post(sender, `https://other.test:${receiver.port}/`)).toMatchObject(noAnswer('tls_error'));
    expect(await post(setup({ proxyUrl: proxy.url }), `https://hooks.test:${receiver.port}/`)).toMatchObject(
      noAnswer('tls_error'),
    );
    expect(receiver.requests).toHaveLength(1);
  });

  it.each([
    ['http://[2606:4700::1111]', '[2606:4700::1111]:80'],
    ['http://192.0.2.1', null],
    ['http://8.8.8.8', '8.8.8.8:80'],
  ])('%s is asked for as an authority: %s', async (url, authority) => {
    const proxy = await startProxy('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
    await post(setup({ proxyUrl: proxy.url }), `${url}/`);
    expect(proxy.asked.map(({ path }) => path)).toEqual(authority === null ? [] : [authority]);
  });

  it('a password is for the proxy only', async () => {
    const receiver = await receiverWith();
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: `http://us%40er:p%3Ass@127.0.0.1:${proxy.port}` });
    await post(sender, `http://hooks.test:${receiver.port}/`);
    const credentials = Buffer.from('us@er:p:ss').toString('base64');
    expect(proxy.asked).toMatchObject([{ authorization: `Basic ${credentials}` }]);
    expect(receiver.requests[0]?.headers).not.toHaveProperty('proxy-authorization');
  });

  it.each([
    '127.0.0.1',
    '2130706433',
    '[::1]',
    '[::ffff:10.0.0.1]',
    '169.254.169.254',
    'localhost',
    'a.LOCALHOST',
    'localhost.',
  ])('nothing goes to %s, which is refused without a resolver', async (host) => {
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: proxy.url });
    for (const scheme of ['http', 'https']) {
      expect(await post(sender, `${scheme}://${host}/`)).toMatchObject(noAnswer('address_not_allowed'));
    }
    expect(proxy.asked).toEqual([]);
  });

  it('an address on the allow-list may be requested', async () => {
    const receiver = await receiverWith();
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: proxy.url, allowCidrs: ['127.0.0.0/8'] });
    expect(await post(sender, `${receiver.url}/`)).toMatchObject(answered);
    expect(await post(sender, `http://localhost:${receiver.port}/`)).toMatchObject(answered);
    expect(proxy.asked).toHaveLength(2);
  });

  it.each([
    ['forbids it', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n', 'address_not_allowed'],
    ['cannot reach it', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n', 'network_error'],
    [
      'wants a password',
      'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n',
      'proxy_unreachable',
    ],
    ['is broken', 'HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n', 'proxy_unreachable'],
    ['speaks no HTTP', 'hello\r\n\r\n', 'invalid_response'],
    ['says nothing', '', 'timeout'],
  ])('a proxy that %s is known by a name', async (_name, answer, error) => {
    const proxy = await startProxy(answer);
    const timeoutMs = error === 'timeout' ? 300 : 5000;
    expect(await post(setup({ proxyUrl: proxy.url, timeoutMs }), 'http://hooks.test/')).toMatchObject(noAnswer(error));
    expect(proxy.asked).toEqual([{ path: 'hooks.test:80', authorization: undefined }]);
  });

  it.each([
    ['407 Proxy Authentication Required', 'address_not_allowed'],
    ['500 Internal Server Error', 'network_error'],
  ])('a proxy that opens tunnels for others, and answers %s for this receiver, forbids it', async (status, error) => {
    const receiver = await receiverWith();
    const proxy = await startProxy((path) =>
      path === 'denied.test:80' ? `HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n` : undefined,
    );
    const sender = setup({ proxyUrl: proxy.url });
    expect(await post(sender, `http://hooks.test:${receiver.port}/`)).toMatchObject(answered);
    expect(await post(sender, 'http://denied.test/')).toMatchObject(noAnswer(error));
    expect(sender.egress).toMatchObject({ outage: null, isCutOff: false });
  });

  it('a proxy that is gone is not the receiver, and is noted until a tunnel opens again', async () => {
    const gone = await startProxy();
    await gone.close();
    const sender = setup({ proxyUrl: gone.url });
    expect(await post(sender, 'http://hooks.test/')).toMatchObject(noAnswer('proxy_unreachable'));
    expect(sender.egress).toMatchObject({ outage: { error: 'proxy_unreachable' }, isCutOff: true });
    const receiver = await receiverWith();
    await startProxy(undefined, gone.port);
    expect(await post(sender, `http://hooks.test:${receiver.port}/`)).toMatchObject(answered);
    expect(sender.egress).toMatchObject({ outage: null, isCutOff: false });
  });

  it('a proxy that goes away during a request has begun the delivery: the receiver may have read it', async () => {
    const proxy = await startProxy();
    const receiver = await receiverWith();
    const sender = setup({ proxyUrl: proxy.url });
    const url = `http://hooks.test:${receiver.port}/`;
    expect(await post(sender, url)).toMatchObject(answered);
    receiver.respondWith(async () => {
      await proxy.close();
      return undefined;
    });
    expect(await post(sender, url)).toMatchObject(noAnswer('reset'));
    expect(receiver.requests).toHaveLength(2);
    expect(sender.egress.outage).toMatchObject({ error: 'proxy_unreachable' });
  });

  it('a proxy whose certificate is refused is not the receiver either', async () => {
    const proxy = await receiverWith(createCertificate({ names: ['127.0.0.1'] }));
    const sender = setup({ proxyUrl: `https://127.0.0.1:${proxy.port}` });
    expect(await post(sender, 'http://hooks.test/')).toMatchObject(noAnswer('proxy_unreachable'));
  });

  it('the claim is checked when the tunnel is open', async () => {
    const receiver = await receiverWith();
    const proxy = await startProxy();
    const sender = setup({ proxyUrl: proxy.url });
    const stillMine = () => proxy.asked.length === 0;
    expect(await post(sender, `http://hooks.test:${receiver.port}/`, stillMine)).toEqual({ abandoned: true });
    expect(receiver.requests).toEqual([]);
  });
});
