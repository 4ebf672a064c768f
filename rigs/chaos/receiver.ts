import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DeliveryRecord } from './records.ts';

/** The receiver's treatment of a delivery. `hang`: never answers. `reset`: cuts the connection. */
export interface Behaviour {
  thinkMs: number;
  answer: number | 'hang' | 'reset';
  retryAfterSeconds?: number;
  /** Called once the answer is on its way. */
  afterwards?: () => void;
}

export interface ChaosReceiver {
  url: string;
  deliveries: DeliveryRecord[];
  close(): Promise<void>;
}

/** Decides by the job's id and how many deliveries of it came before. */
export type Mind = (envelope: { id: string; queue: string; attempt: number }, before: number) => Behaviour;

/** Records every delivery that came in as a whole, and treats it as its `Mind` decides. */
export async function startReceiver(mind: Mind): Promise<ChaosReceiver> {
  const deliveries: DeliveryRecord[] = [];
  const seen = new Map<string, number>();
  const server = createServer((request, response) => void receive(request, response));

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now();
    const raw = await bodyOf(request);
    if (raw === null) return; // the body never came in, so the receiver did no work
    const record: DeliveryRecord = { at, end: 'open', endedAt: null, status: null, raw, signatures: [] };
    request.rawHeaders.forEach((name, n) => {
      if (n % 2 === 0 && name.toLowerCase() === 'x-service-signature') {
        record.signatures.push(request.rawHeaders[n + 1] ?? '');
      }
    });
    deliveries.push(record);
    const finish = (end: DeliveryRecord['end'], status: number | null) => {
      if (record.end !== 'open') return;
      Object.assign(record, { end, status, endedAt: Date.now() });
    };
    response.once('close', () => finish('cut', null));

    const envelope = JSON.parse(raw) as { id: string; queue: string; attempt: number };
    const before = seen.get(envelope.id) ?? 0;
    seen.set(envelope.id, before + 1);
    const { thinkMs, answer, retryAfterSeconds, afterwards } = mind(envelope, before);
    if (answer === 'hang') return;
    await new Promise((resolve) => setTimeout(resolve, thinkMs));
    if (response.destroyed) return;
    if (answer === 'reset') {
      finish('reset', null);
      response.destroy();
      return;
    }
    // Before the bytes leave: the sender may act on them at once.
    finish('answered', answer);
    response.writeHead(answer, {
      'content-length': '0',
      // A new connection per delivery, so that the host name of the webhook is looked up for each.
      ...(request.headers.host?.startsWith('127.') ? {} : { connection: 'close' }),
      ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
    });
    response.end();
    afterwards?.();
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    deliveries,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString('utf8');
  } catch {
    return null;
  }
}
