import { writeJson } from '../../../../src/contract/verbatim-json.ts';
import { envelopeText } from '../../../../src/domain/envelope-text.ts';
import type { PayloadObject } from '../payload.ts';

/** The second argument of `signedDelivery`. */
export interface DeliveryOptions {
  /** The secret that the receiver under test knows. */
  secret: string;
  /** Secret of the second signature, as during a rotation. */
  nextSecret?: string | undefined;
  /** Name of the queue; `test` by default. */
  queue?: string | undefined;
  /** Id of the job; a new one by default. Give the same id twice to test what your receiver does about duplicates. */
  id?: string | undefined;
  /** Number of the attempt; 1 by default. */
  attempt?: number | undefined;
  /** Attempts after which the job is dead; 5 by default. */
  maxAttempts?: number | undefined;
  /** Time of the publish; now by default. */
  createdAt?: Date | undefined;
  /** The queue's `ackTimeout` in seconds, for a receiver in ack mode. */
  ackTimeout?: number | undefined;
  /** Value of the service's `SIGNATURE_HEADER`; `x-service-signature` by default. */
  signatureHeader?: string | undefined;
}

/** A delivery as Jobferry sends it. */
export interface SignedDelivery {
  /** Id of the job. */
  id: string;
  /** Always `POST`. */
  method: 'POST';
  /** Header names are in lower case. */
  headers: Record<string, string>;
  /** Text of the body. Send it as it is: the signature is over its bytes. */
  body: string;
}

/**
 * Creates a delivery that a receiver takes for a real one:
 *
 *     const delivery = await signedDelivery({ to: 'ada' }, { secret });
 *     await fetch('http://127.0.0.1:9001/jobs', delivery);              // a server
 *     await handle(new Request('http://test/jobs', delivery));          // fetchHandler
 *     await app.inject({ url: '/jobs', ...delivery });   // Fastify, where `payload` has the second name `body`
 *     await supertest(app).post('/jobs').set(delivery.headers).send(delivery.body);
 *
 * @param payload an object, or `rawJson` for what `JSON.stringify` cannot write
 */
export async function signedDelivery(payload: PayloadObject, options: DeliveryOptions): Promise<SignedDelivery> {
  const { secret, nextSecret, queue = 'test', id = newId(), attempt = 1, maxAttempts = 5, ackTimeout } = options;
  const { createdAt = new Date(), signatureHeader = 'x-service-signature' } = options;
  if (secret === '') throw new TypeError('secret is empty: no receiver accepts that');
  const body = envelopeText({ id, queue, payload: writeJson(payload), attempt, maxAttempts, createdAt });
  const header = signatureHeader.toLowerCase();
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'jobferry',
    'x-jobferry-job': id,
    'x-jobferry-queue': queue,
    'x-jobferry-attempt': String(attempt),
    ...(ackTimeout === undefined ? {} : { 'x-jobferry-ack-timeout': String(ackTimeout) }),
    [header]: await signatureOf(body, secret),
    ...(nextSecret === undefined ? {} : { [`${header}-next`]: await signatureOf(body, nextSecret) }),
  };
  return { id, method: 'POST', headers, body };
}

/** As ids of jobs: 24 hexadecimal digits. */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 24);
}

async function signatureOf(body: string, secret: string): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const encoder = new TextEncoder();
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(body)));
  return `sha256=${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
