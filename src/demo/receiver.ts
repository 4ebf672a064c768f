import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, PAYLOADS } from './payloads.ts';

/** A webhook that checks every signature and payload, and misbehaves as the payload's answers say. */
export interface DemoReceiver {
  url: string;
  /** Sets the secret of the queue, with which all deliveries must be signed. */
  expect(signingSecret: string): void;
  /** Name of the payload that arrived, by job id. */
  arrived: ReadonlyMap<string, string>;
  wrongSignatures(): number;
  /** Number of deliveries with other bytes than were published. */
  altered(): number;
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

/**
 * @param onAnswer called with each answer, after it was sent
 */
export async function startReceiver(
  onAnswer: (jobId: string, payload: string, delivery: number, answer: Answer) => void,
): Promise<DemoReceiver> {
  const arrived = new Map<string, string>();
  const deliveries = new Map<string, number>();
  let secret = '';
  let wrongSignatures = 0;
  let altered = 0;

  const handle = (req: IncomingMessage, raw: Buffer, res: ServerResponse) => {
    if (!isSigned(raw, req.headers[SIGNATURE], secret)) {
      wrongSignatures += 1;
      return res.writeHead(401).end();
    }
    const envelope = JSON.parse(raw.toString()) as Envelope;
    const bytes = payloadOf(envelope, raw);
    const [name, payload] = Object.entries(PAYLOADS).find(([, { source }]) => bytes.equals(Buffer.from(source))) ?? [];
    if (name === undefined || payload === undefined) {
      altered += 1;
      return res.writeHead(400).end();
    }
    arrived.set(envelope.id, name);
    const delivery = (deliveries.get(name) ?? 0) + 1;
    deliveries.set(name, delivery);
    const answer = payload.answers[delivery - 1] ?? payload.answers.at(-1) ?? 500;
    res.writeHead(typeof answer === 'number' ? answer : 202, answer === 429 ? { 'retry-after': '1' } : {});
    return res.end(() => onAnswer(envelope.id, name, delivery, answer));
  };

  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => handle(req, Buffer.concat(chunks), res));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    expect: (signingSecret) => {
      secret = signingSecret;
    },
    arrived,
    wrongSignatures: () => wrongSignatures,
    altered: () => altered,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function isSigned(raw: Buffer, header: string | string[] | undefined, secret: string): boolean {
  if (typeof header !== 'string') return false;
  const wanted = Buffer.from(`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`);
  const given = Buffer.from(header);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

/** Returns the bytes between the fields around the payload: parsing would hide a difference. */
function payloadOf({ id, queue, attempt, maxAttempts, createdAt }: Envelope, raw: Buffer): Buffer {
  const head = Buffer.from(`{"id":"${id}","queue":"${queue}","payload":`);
  const tail = Buffer.from(`,"attempt":${attempt},"maxAttempts":${maxAttempts},"createdAt":"${createdAt}"}`);
  const framed = raw.subarray(0, head.length).equals(head) && raw.subarray(-tail.length).equals(tail);
  // An envelope in another form is wrong. An empty payload equals none that was published.
  return framed ? raw.subarray(head.length, raw.length - tail.length) : Buffer.alloc(0);
}
