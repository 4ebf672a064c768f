import { createHmac } from 'node:crypto';
import { buildConnector } from 'undici';
import { Egress } from '../../delivery/egress.ts';
import { Exchange, type SendResult } from '../../delivery/exchange.ts';
import { createAgent } from '../../delivery/send.ts';
import { sign, standardHeaders } from '../../delivery/signature.ts';
import type { WireAnswer, WireDelivery } from './server.ts';

const CONNECT_MS = 10_000;
const MAX_TEXT = 100;

/** Sends deliveries to a URL on this machine. */
export interface Forwarder {
  send(delivery: WireDelivery): Promise<{ answer: WireAnswer; durationMs: number }>;
  close(): Promise<void>;
}

/**
 * A delivery ends here as it would without a tunnel, by the same exchange: interim answers are passed over, and neither
 * a connection that the receiver was closing nor a lack of descriptors or local ports uses an attempt.
 * @param secret signs the deliveries in place of the queue's own; null to leave them as they are
 */
export function createForwarder(url: URL, secret: string | null): Forwarder {
  const opening = { accountId: '' };
  const egress = new Egress(undefined);
  const open = buildConnector({ timeout: CONNECT_MS });
  const connect: buildConnector.connector = (server, callback) =>
    open(server, (...opened) => {
      if (opened[0] === null) egress.works('no_descriptors', 'no_local_port');
      callback(...opened);
    });
  const pooled = createAgent({ connect, pipelining: 1 }, opening);
  const fresh = createAgent({ connect, pipelining: 0 }, opening);
  const target = { origin: url.origin, path: url.pathname + url.search, method: 'POST' } as const;
  return {
    async send({ id: deliveryId, headers: given, body: text, timeoutMs }) {
      const headers = secret === null ? given : signedBy(secret, given, text);
      const options = { ...target, headers, body: Buffer.from(text), accountId: '', connection: null };
      const result = await new Promise<SendResult>((settle) =>
        new Exchange({ options, timeoutMs, stillMine: undefined, pooled, fresh, egress, settle }).start(),
      );
      if (result.abandoned) throw new Error('a request without a claim was abandoned');
      return { answer: { deliveryId, ...answerOf(result) }, durationMs: Math.round(result.durationMs) };
    },
    async close() {
      await Promise.all([pooled.destroy(), fresh.destroy()]);
    },
  };
}

function answerOf({ answer, responseBody }: SendResult & { abandoned?: never }): Omit<WireAnswer, 'deliveryId'> {
  if (answer.kind === 'no_answer') return { error: answer.error };
  const { statusCode, retryAfter, isPermanent } = answer;
  return {
    statusCode,
    body: responseBody ?? '',
    ...(retryAfter === null ? {} : { retryAfter: retryAfter.slice(0, MAX_TEXT) }),
    ...(isPermanent === true ? { outcome: 'permanent' } : {}),
  };
}

const SIGNATURE = /^sha256=[0-9a-f]{64}$/;

/** The contract's signature header is known by its form: its name is a setting of the service. */
function signedBy(secret: string, headers: readonly string[], body: string): string[] {
  const bytes = Buffer.from(body);
  const signed: string[] = [];
  const headerOf = (wanted: string) => headers[headers.indexOf(wanted) + 1] ?? '';
  for (let n = 0; n < headers.length; n += 2) {
    const [name = '', value = ''] = headers.slice(n, n + 2);
    if (name === 'webhook-signature') {
      const seconds = Number(headerOf('webhook-timestamp'));
      signed.push(name, standardHeaders(headerOf('webhook-id'), bytes, [secret], seconds).at(-1) ?? '');
    } else if (!SIGNATURE.test(value)) signed.push(name, value);
    else if (!name.endsWith('-next')) signed.push(name, sign(bytes, secret));
  }
  return signed;
}

/** @returns a secret that is the same at each start, and does not reveal the key */
export function secretOf(apiKey: string, queue: string): string {
  return `whsec_${createHmac('sha256', apiKey).update(`jobferry listen ${queue}`).digest('base64')}`;
}
