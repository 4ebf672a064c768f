import { createHmac } from 'node:crypto';
import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import { classifyError } from '../delivery/delivery-error.ts';
import { sign, standardHeaders } from '../delivery/signature.ts';
import type { WireAnswer, WireDelivery } from './server.ts';

/** Bytes of an answer's body that are passed on. More is read as far as a connection needs it to be used again. */
const KEPT_BYTES = 4096;
const READ_BYTES = 256 * 1024;
const BODY_MS = 500;

/** Sends deliveries to a URL on this machine. */
export interface Forwarder {
  send(delivery: WireDelivery): Promise<{ answer: WireAnswer; durationMs: number }>;
  close(): Promise<void>;
}

/** @param secret signs the deliveries in place of the queue's own; null to leave them as they are */
export function createForwarder(url: URL, secret: string | null): Forwarder {
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, pipelining: 1 });
  const path = url.pathname + url.search;
  return {
    async send({ id: deliveryId, headers, body: text, timeoutMs }) {
      const startedAt = performance.now();
      const signal = AbortSignal.timeout(timeoutMs);
      let answer: WireAnswer;
      try {
        const sent = secret === null ? headers : signedBy(secret, headers, text);
        const response = await agent.request({
          origin: url.origin,
          path,
          method: 'POST',
          headers: sent,
          body: text,
          signal,
        });
        const body = await beginningOf(response.body);
        answer = isStatus(response.statusCode)
          ? {
              ...{ deliveryId, statusCode: response.statusCode, body },
              ...textOf('retryAfter', response.headers['retry-after']),
              ...textOf('outcome', response.headers['x-jobferry-outcome']),
            }
          : { deliveryId, error: 'invalid_response' };
      } catch (error) {
        answer = { deliveryId, error: signal.aborted ? 'timeout' : classifyError(error) };
      }
      return { answer, durationMs: Math.round(performance.now() - startedAt) };
    },
    close: () => agent.destroy(),
  };
}

/** Others are those of no final answer. */
function isStatus(statusCode: number): boolean {
  return statusCode >= 200 && statusCode <= 599;
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

function textOf(name: 'retryAfter' | 'outcome', header: string | string[] | undefined): Partial<WireAnswer> {
  const last = Array.isArray(header) ? header.at(-1) : header;
  return last === undefined ? {} : { [name]: last.slice(0, 100) };
}

/** The status decides, so a body that breaks off, or takes longer than half a second, is cut. */
async function beginningOf(body: Readable): Promise<string> {
  const cut = setTimeout(() => body.destroy(), BODY_MS);
  const chunks: Buffer[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      if (read < KEPT_BYTES) chunks.push(chunk.subarray(0, KEPT_BYTES - read));
      read += chunk.length;
      if (read > READ_BYTES) break;
    }
  } catch {
    // As much as was read counts.
  } finally {
    clearTimeout(cut);
  }
  return Buffer.concat(chunks).toString();
}
