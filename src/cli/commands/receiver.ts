import { createServer, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { verifySignature } from '../../../packages/client/src/webhook/signature.ts';
import { readDuration } from '../../domain/duration.ts';
import { isId } from '../../domain/id.ts';
import { createLog } from '../../telemetry/log.ts';
import { CommandError, command, UsageError } from './command.ts';
import { jsonOf, printable } from './output.ts';
import { stopOnSignal } from './stop-on-signal.ts';

/** An answer of the receiver to a delivery. */
interface Step {
  status: number;
  /** Milliseconds before the answer. */
  waitMs: number;
  /** Seconds of `Retry-After`; null for none. */
  retryAfter: number | null;
}

const DEFAULT_PORT = 9000;
const MAX_BODY = 16 * 1024 * 1024;
const SHOWN_PAYLOAD = 200;

export const RECEIVER = command({
  name: 'receiver',
  summary: 'Run a receiver that prints deliveries and answers them according to a script.',
  options: {
    script: {
      value: 'STEPS',
      help: 'answers in order, the last one repeated, such as 500,429:5,slow:20s,200: a status, 429 with Retry-After 5, a 200 after 20 s; 200 by default',
    },
    port: { value: 'N', help: `port on this machine; ${DEFAULT_PORT} by default` },
    secret: { value: 'S', help: 'signing secret of the queue: deliveries with another signature get 401' },
    json: { help: 'print one JSON object for each delivery' },
  },
  isService: true,
  run: async ({ options }) => {
    const port = Number(options.port ?? DEFAULT_PORT);
    if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError('--port must be from 0 to 65535');
    const receiver = await startReceiver({
      port,
      steps: stepsOf(options.script ?? '200'),
      secret: options.secret,
      json: options.json,
    });
    stopOnSignal(Promise.resolve(receiver), createLog({ level: 'error' }));
    console.log(
      options.json ? jsonOf({ type: 'ready', url: receiver.url }) : `receiver is listening on ${receiver.url}`,
    );
    return null;
  },
});

/** @throws UsageError */
export function stepsOf(script: string): Step[] {
  return script.split(',').map((text) => {
    const [, status, seconds] = /^([2-5]\d\d)(?::(\d+(?:\.\d+)?))?$/.exec(text.trim()) ?? [];
    if (status !== undefined)
      return { status: Number(status), waitMs: 0, retryAfter: seconds === undefined ? null : Number(seconds) };
    const waitMs = text.trim().startsWith('slow:') ? readDuration(text.trim().slice('slow:'.length)) : null;
    if (waitMs !== null) return { status: 200, waitMs, retryAfter: null };
    throw new UsageError(`--script has the step "${printable(text)}": a step is 200, 429:5 or slow:20s`);
  });
}

interface ReceiverOptions {
  port: number;
  steps: readonly Step[];
  secret: string | undefined;
  json: boolean;
}

async function startReceiver({ port, steps, secret, json }: ReceiverOptions) {
  let taken = 0;
  const stopping = new AbortController();
  const server = createServer(async (req, res) => {
    const body = await readBody(req);
    if (body === null) return void res.writeHead(413, { connection: 'close' }).end();
    const given = String(req.headers['x-service-signature'] ?? '');
    const genuine = secret === undefined || (await verifySignature(body, given, secret));
    const step = genuine
      ? (steps[Math.min(taken++, steps.length - 1)] as Step)
      : { status: 401, waitMs: 0, retryAfter: null };
    const isLeft = await sleep(step.waitMs, false, { signal: stopping.signal }).catch(() => true);
    if (isLeft || res.destroyed) return;
    const delivery = deliveryIn(body.toString());
    const shown = line(delivery, step.status) + (genuine ? '' : '  the signature does not match --secret');
    console.log(json ? jsonOf({ type: 'delivery', ...delivery, status: step.status }) : shown);
    res.writeHead(step.status, step.retryAfter === null ? {} : { 'retry-after': String(step.retryAfter) }).end();
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new CommandError(`port ${port} is in use: give another --port`) : error),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${bound}/`,
    async stop() {
      stopping.abort();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** @returns null for a body that is too large, or that breaks off */
async function readBody(req: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of req as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_BODY) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks);
}

interface Delivery {
  id: string | null;
  queue: string | null;
  attempt: number | null;
  payload: unknown;
}

/** The receiver is for a first look, so it takes every body. */
function deliveryIn(body: string): Delivery {
  try {
    const { id, queue, attempt, payload } = JSON.parse(body) as Record<string, unknown>;
    const isEnvelope = typeof id === 'string' && isId(id) && typeof queue === 'string' && typeof attempt === 'number';
    if (isEnvelope) return { id, queue, attempt, payload };
  } catch {
    // No envelope.
  }
  return { id: null, queue: null, attempt: null, payload: body.slice(0, SHOWN_PAYLOAD) };
}

function line({ id, queue, attempt, payload }: Delivery, status: number): string {
  const time = new Date().toTimeString().slice(0, 8);
  const text = JSON.stringify(payload) ?? '';
  const shown = text.length > SHOWN_PAYLOAD ? `${text.slice(0, SHOWN_PAYLOAD - 1)}…` : text;
  const which = id === null ? 'no envelope' : `${printable(queue ?? '')}  attempt ${attempt} of ${id}`;
  return `${time}  ${status}  ${which}  ${printable(shown)}`;
}
