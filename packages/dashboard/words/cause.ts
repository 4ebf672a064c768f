import type { SchemaType } from '../../query/schema/types.ts';
import { many, quote, seconds, upperFirst, visible } from '../../query/words/format.ts';

/** Errors of deliveries in words, as the end of "because …". */
const CAUSES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    connection_refused: 'the receiver refused the connection',
    dns_error: 'the receiver’s host name was not found',
    reset: 'the receiver cut the connection',
    tls_error: 'the receiver’s certificate was rejected',
    address_not_allowed: 'the receiver’s address is not public, and WEBHOOK_ALLOW_CIDRS does not allow it',
    invalid_response: 'the receiver’s answer was not valid HTTP',
    network_error: 'the network failed',
    ack_timeout: 'the worker did not report in time',
    worker_lost: 'Jobferry’s own worker was lost 10 times',
  }),
);

/** The code of an error such as `HTTP 500`; null if the receiver did not answer with a code. */
export function codeOf(error: string | null): number | null {
  const code = error?.match(/^HTTP (\d{3})$/)?.[1];
  return code === undefined ? null : Number(code);
}

/** A clause: "the receiver answered 500". What no table knows is the text of the worker that refused or deferred. */
export function causeOf(error: string | null, webhookTimeoutSeconds: number): string {
  if (error === null || error === '') return 'the last attempt failed';
  const code = codeOf(error);
  if (code !== null) return `the receiver answered ${code}`;
  if (error === 'timeout') return `the receiver did not answer within ${seconds(webhookTimeoutSeconds)}`;
  if (/^(proxy|resolver)_unr|^no_(desc|local)/.test(error)) return `Jobferry could not send it: ${error}`;
  return CAUSES.get(error) ?? `the worker said ${quote(error)}`;
}

/**
 * Whether nothing came back from the receiver, neither a code nor a body, as of a refused connection or a failed probe.
 */
export const isSilent = (attempt: {
  status: SchemaType<'AttemptStatus'>;
  error: string | null;
  webhookStatusCode: number | null;
  responseBody: string | null;
}): boolean =>
  attempt.webhookStatusCode === null &&
  !attempt.responseBody &&
  (attempt.status === 'FAILED' || (attempt.status === 'DEFERRED' && attempt.error !== null));

/** Whether an answer may be longer than what is stored of it: 4 KiB, less the bytes of a character that the end cut. */
export const mayBeCut = (body: string): boolean => new TextEncoder().encode(body).length > 4096 - 4;

/** Says of a failed attempt without an answer whether the receiver may have done the work. */
export const sentenceOfSilence = (error: string | null) =>
  /refused|dns|tls|allowed/.test(error ?? '')
    ? 'Nothing was sent.'
    : 'No answer came back. The receiver may have done the work: look for the id in its log.';

/** In a row: the code, else the error without its underscores, such as "connection reset". */
export function shortCause(error: string | null): string {
  if (error === null || error === '') return '';
  const code = codeOf(error);
  if (code !== null) return String(code);
  if (error === 'reset') return 'connection reset';
  return CAUSES.has(error) ? error.replaceAll('_', ' ') : visible(error);
}

export type DeadReason = SchemaType<'DeadReason'>;

/** The common fields of dead letters. Some are optional. */
export interface Death {
  reason: DeadReason;
  error: string | null;
  webhookStatusCode: number | null;
  queue: { maxDefers?: number; ackTimeout?: number; maxAttempts?: number } | null;
  sample?: { lastAttempt: { attempt: number } | null } | null;
}

/** Why jobs died, as a title: "Receiver answered 500, five times". */
export function titleOfDeath(
  { reason, error, webhookStatusCode: code, queue, sample }: Death,
  webhookTimeoutSeconds: number,
): string {
  const answer = code === null ? '' : ` (${code})`;
  const { maxDefers, ackTimeout, maxAttempts } = queue ?? {};
  const noReport = `Worker did not report ${ackTimeout === undefined ? 'in time' : `within ${seconds(ackTimeout)}`}`;
  switch (reason) {
    case 'ACK_TIMEOUT':
      return noReport;
    case 'NACKED':
      // A nack keeps the code of the receipt, whatever its reason says.
      if (code !== null && codeOf(error) === code) return `Receiver refused it for good with ${code}`;
      return error === null ? 'Worker refused it for good' : `Worker refused it: ${quote(error)}`;
    case 'DEFER_CAP_EXHAUSTED':
      return `${maxDefers === undefined ? 'All holds' : many(maxDefers, 'hold')} used up${answer}`;
    case 'RETRY_AFTER_EXCEEDS_LIFETIME':
      return `Receiver asked to wait past the end of the lifetime${answer}`;
    case 'DELIVERY_LIFETIME_EXCEEDED':
      return 'Lifetime ended before it was delivered';
    case 'QUEUE_DELETED':
      return 'Queue was deleted';
    case 'CANCELLED':
      return 'Cancelled';
    case 'ATTEMPTS_EXHAUSTED': {
      if (code === 401) return 'Receiver rejected the signature (401)';
      if (error === 'ack_timeout') return noReport;
      const attempts = sample?.lastAttempt?.attempt ?? maxAttempts ?? 1;
      return `${subject(causeOf(error, webhookTimeoutSeconds))}${attempts > 1 ? `, ${many(attempts, 'time')}` : ''}`;
    }
  }
}

/** The clause as the start of a title: "the receiver answered 500" is "Receiver answered 500". */
const subject = (clause: string) => upperFirst(clause.replace(/^the /, ''));

/** The worker failed after the receiver had answered 2xx, so the receiver's answers say nothing of it. */
export function isOfWorker(reason: string, { error, code }: { error: string | null; code: number | null }): boolean {
  // The receiver itself may have refused for good (D39). A nack keeps the code of the receipt,
  // whatever its reason says.
  const isNack = reason === 'NACKED' && (code === null || codeOf(error) !== code);
  return reason === 'ACK_TIMEOUT' || isNack || error === 'ack_timeout';
}
