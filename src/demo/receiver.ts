import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a queue's webhook behaves; also the path of its URL. */
export type Behaviour = 'fine' | 'flaky' | 'busy' | 'slow' | 'broken' | 'ack';

interface Arrival {
  /** `performance.now()` at the first delivery, in milliseconds. */
  at: number;
  /** Bytes of the payload of every delivery, cut out of the envelope. */
  payloads: Buffer[];
}

/** A webhook that checks every signature, records what arrived, and misbehaves according to its path. */
export interface DemoReceiver {
  addressOf(behaviour: Behaviour): string;
  /** The secret that the queue's deliveries must be signed with. */
  expect(queue: string, signingSecret: string): void;
  arrivals: ReadonlyMap<string, Arrival>;
  badSignatures(): number;
  /** From now on, `broken` works. */
  heal(): void;
  close(): Promise<void>;
}

interface Envelope {
  id: string;
  queue: string;
  attempt: number;
  maxAttempts: number;
  createdAt: string;
}

const SIGNATURE = 'x-service-signature';
const SLOW_MS = 2000;

/** @param onAck called for every delivery in ack mode, after its receipt was confirmed */
export async function startReceiver(onAck: (jobId: string, delivery: number) => void): Promise<DemoReceiver> {
  const secrets = new Map<string, string>();
  const arrivals = new Map<string, Arrival>();
  let badSignatures = 0;
  let healed = false;

  const handle = (req: IncomingMessage, raw: Buffer, res: ServerResponse) => {
    const at = performance.now();
    const envelope = JSON.parse(raw.toString()) as Envelope;
    if (!isSigned(raw, req.headers[SIGNATURE], secrets.get(envelope.queue))) {
      badSignatures += 1;
      res.writeHead(401).end();
      return;
    }
    const arrival = arrivals.get(envelope.id) ?? { at, payloads: [] };
    arrivals.set(envelope.id, arrival);
    const delivery = arrival.payloads.push(payloadOf(envelope, raw));
    switch (req.url?.slice(1) as Behaviour) {
      case 'flaky':
        return res.writeHead(delivery === 1 ? 500 : 200).end();
      case 'busy':
        return delivery === 1 ? res.writeHead(429, { 'retry-after': '1' }).end() : res.end();
      case 'slow':
        return setTimeout(() => res.end(), SLOW_MS);
      case 'broken':
        return res.writeHead(healed ? 200 : 500).end();
      case 'ack':
        return res.writeHead(202).end(() => onAck(envelope.id, delivery));
      default:
        return res.end();
    }
  };

  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => handle(req, Buffer.concat(chunks), res));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    addressOf: (behaviour) => `http://127.0.0.1:${port}/${behaviour}`,
    expect: (queue, signingSecret) => secrets.set(queue, signingSecret),
    arrivals,
    badSignatures: () => badSignatures,
    heal: () => {
      healed = true;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isSigned(raw: Buffer, header: string | string[] | undefined, secret: string | undefined): boolean {
  if (typeof header !== 'string' || secret === undefined) return false;
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`);
  const given = Buffer.from(header);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Returns the bytes between the fields around the payload (spec "Events"): parsing would hide a difference. */
function payloadOf({ id, queue, attempt, maxAttempts, createdAt }: Envelope, raw: Buffer): Buffer {
  const head = Buffer.from(`{"id":"${id}","queue":"${queue}","payload":`);
  const tail = Buffer.from(`,"attempt":${attempt},"maxAttempts":${maxAttempts},"createdAt":"${createdAt}"}`);
  const framed = raw.subarray(0, head.length).equals(head) && raw.subarray(-tail.length).equals(tail);
  // An envelope in another form is wrong. An empty payload equals none that was published.
  return framed ? raw.subarray(head.length, raw.length - tail.length) : Buffer.alloc(0);
}
