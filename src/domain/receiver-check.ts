import type { DeliveryAnswer } from './outcome.ts';

/** A test request to the receiver of a queue. */
export interface TestRequest {
  /** The account whose share of the name look-ups it uses. */
  accountId: string;
  /** Id in its envelope, which no job has. */
  id: string;
  queueId: string;
  /** Name of the queue. */
  name: string;
  /** `ackTimeout` of the queue in seconds; null in standard mode. */
  ackTimeout: number | null;
  webhookUrl: string;
  signingSecret: string;
  nextSigningSecret: string | null;
  /** Whether it has the headers of Standard Webhooks, as deliveries of the queue. */
  standardWebhooks: boolean;
  /** Time of the request by the database's clock. */
  now: Date;
}

export interface TestAnswer {
  answer: DeliveryAnswer;
  durationMs: number;
  /** First 4 KiB of the body; null without an answer. */
  responseBody: string | null;
  /** When the certificate of the receiver ends; null without TLS, or without an answer. */
  certificateEndsAt: Date | null;
}

/** The verdict of an answer about the signature. A 2xx also comes from a receiver that does not verify it. */
export const SIGNATURE_VERDICTS = ['accepted', 'rejected', 'unknown'] as const;
type SignatureVerdict = (typeof SIGNATURE_VERDICTS)[number];

export interface CheckOfReceiver {
  sentAt: Date;
  webhookStatusCode: number | null;
  durationMs: number;
  /** As in the history of a job; null after a 2xx. */
  error: string | null;
  /** The code of a certificate that was not accepted, such as `CERT_HAS_EXPIRED`; null otherwise. */
  errorCode: string | null;
  responseBody: string | null;
  certificateEndsAt: Date | null;
  signature: SignatureVerdict;
}

export function checkOf(sentAt: Date, { answer, durationMs, ...seen }: TestAnswer): CheckOfReceiver {
  const rest = { sentAt, durationMs: Math.round(durationMs), ...seen };
  if (answer.kind === 'no_answer') {
    return {
      ...rest,
      webhookStatusCode: null,
      error: answer.error,
      errorCode: answer.code ?? null,
      signature: 'unknown',
    };
  }
  const { statusCode } = answer;
  const isAccepted = statusCode >= 200 && statusCode <= 299;
  return {
    ...rest,
    webhookStatusCode: statusCode,
    error: isAccepted ? null : `HTTP ${statusCode}`,
    errorCode: null,
    signature: isAccepted ? 'accepted' : statusCode === 401 ? 'rejected' : 'unknown',
  };
}
