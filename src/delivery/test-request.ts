import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { TestAnswer, TestRequest } from '../domain/receiver-check.ts';
import { TEST_PAYLOAD } from '../domain/receiver-examination.ts';
import { buildEnvelope } from './envelope.ts';
import type { Sender } from './send.ts';

/**
 * Returns a function that sends test requests: signed, and with the address checks, the deadline and the limits of a
 * delivery. A request whose client has left ends at once.
 */
export function createTestSender(sender: Sender): (request: TestRequest, signal?: AbortSignal) => Promise<TestAnswer> {
  return async (request, signal) => {
    const { accountId, id, queueId, name, webhookUrl, signingSecret, nextSigningSecret, ackTimeout, now } = request;
    const body = buildEnvelope({ id, queue: name, payload: TEST_PAYLOAD, attempt: 1, maxAttempts: 1, createdAt: now });
    let certificateEndsAt: Date | null = null;
    let end: () => void = () => undefined;
    const leave = () => end();
    signal?.addEventListener('abort', leave);
    const result = await sender.send({
      accountId,
      url: webhookUrl,
      secret: signingSecret,
      nextSecret: nextSigningSecret,
      body,
      job: { id, queue: name, queueId, attempt: 1, ackTimeout },
      standardWebhooks: request.standardWebhooks,
      test: {
        onStart: (endRequest) => {
          end = endRequest;
          if (signal?.aborted === true) end();
        },
        onHeaders: (_headers, socket) => {
          certificateEndsAt = endOfCertificate(socket);
        },
      },
    });
    signal?.removeEventListener('abort', leave);
    if (result.abandoned) throw new Error('a test request without a claim was abandoned');
    return { ...result, certificateEndsAt };
  };
}

/** Returns when the certificate of the other side ends; null for a connection without one. */
function endOfCertificate(socket: Socket | null): Date | null {
  if (!(socket instanceof TLSSocket)) return null;
  const end = new Date(socket.getPeerCertificate().valid_to);
  return Number.isNaN(end.getTime()) ? null : end;
}
