import { adviceOn, DEFAULT_HOLD_MS, type DeliveryAnswer, isBackpressure, readRetryAfter } from './outcome.ts';
import { type AnswerHead, lineFor } from './receiver-frameworks.ts';

/** Judges a receiver by its answers to test requests. */

/** By this payload a receiver can tell a test request from a job. */
export const TEST_PAYLOAD = '{"jobferry":"check"}';
/** Leaves room for the tests that add to it. */
const MAX_PAYLOAD_BYTES = 100_000;

/** Returns why the text cannot be the payload of an examination; null if it can. */
export function payloadProblem(text: string): string | null {
  if (new TextEncoder().encode(text).byteLength > MAX_PAYLOAD_BYTES)
    return `must have at most ${MAX_PAYLOAD_BYTES} bytes`;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return null;
  } catch {}
  return `must be a JSON object, such as ${TEST_PAYLOAD}`;
}

/** A receiver and the parts of its deliveries. */
export interface Examined {
  accountId: string;
  queueId: string;
  /** Name of the queue. */
  name: string;
  webhookUrl: string;
  signingSecret: string;
  nextSigningSecret: string | null;
  /** Whether its deliveries have the headers of Standard Webhooks. */
  standardWebhooks: boolean;
  /** Seconds; null in standard mode. */
  ackTimeout: number | null;
  concurrency: number;
  /** JSON source text of an object. */
  payload: string;
  /** Database time of the beginning. */
  now: Date;
}

export const FINDING_STATUSES = ['ok', 'warning', 'failed', 'skipped'] as const;

export interface ExaminationFinding {
  /** Stays the same from version to version. */
  name: string;
  /** `skipped`: nothing can be seen. */
  status: (typeof FINDING_STATUSES)[number];
  /** The observation. */
  text: string;
  /** A change that fixes it; null if it needs none. */
  advice: string | null;
}

/** An answer to one test request. */
export interface SeenAnswer extends AnswerHead {
  answer: DeliveryAnswer;
  durationMs: number;
}

/** The settings of the service that a judgement depends on. */
export interface Setting {
  signatureHeader: string;
  timeoutMs: number;
  /** Database time in milliseconds. */
  now: number;
  /** A job lives for this long. */
  lifetimeMs: number;
}

const ok = (name: string, text: string): ExaminationFinding => ({ name, status: 'ok', text, advice: null });
const failed = (name: string, text: string, advice: string): ExaminationFinding => ({
  name,
  status: 'failed',
  text,
  advice,
});
const warning = (name: string, text: string, advice: string): ExaminationFinding => ({
  name,
  status: 'warning',
  text,
  advice,
});
export const skipped = (name: string, text: string): ExaminationFinding => ({
  name,
  status: 'skipped',
  text,
  advice: null,
});

/** By the code of a connection whose TLS failed. */
const TLS_PROBLEMS: readonly (readonly [code: RegExp, text: string, advice: string])[] = [
  [/^CERT_HAS_EXPIRED$/, 'its certificate has expired', 'Renew the certificate.'],
  [/NOT_YET_VALID/, 'its certificate is not valid yet', 'Compare the clocks of the receiver and of Jobferry.'],
  [
    /ALTNAME|HOSTNAME/,
    'its certificate is for another host name',
    'Use the name of the certificate in the webhook URL, or get a certificate for this name.',
  ],
  [
    /ALERT_.*CERTIFICATE/,
    'it asks for a certificate of its client',
    'Jobferry has none: let the server accept clients without.',
  ],
  [
    /WRONG_VERSION|EPROTO|UNSUPPORTED_PROTOCOL/,
    'it speaks no TLS on this port',
    'Compare port and scheme of the webhook URL: is it http://?',
  ],
  [
    /SELF_SIGNED|ISSUER|UNABLE_TO_VERIFY|(^|_)CA(_|$)/,
    'the authority of its certificate is not known here, or the intermediate certificates are missing',
    'Let the server send the whole chain, or give the workers the authority with NODE_EXTRA_CA_CERTS.',
  ],
];

const UNREACHED: Readonly<Record<string, string>> = {
  timeout: 'Answer within the time limit. Work that takes longer needs ack mode.',
  connection_refused: 'Start the receiver, and compare the port with that of the webhook URL.',
  dns_error: 'Compare the host name with that of the receiver.',
  reset: 'Look into the log of the receiver or of its proxy: it closed the connection without an answer.',
  invalid_response: 'Look at the program that listens there: its answer is not valid HTTP.',
};

function judgeSilence(name: string, { answer }: SeenAnswer): ExaminationFinding {
  const error = answer.kind === 'no_answer' ? answer.error : '';
  return failed(name, `no answer: ${error}`, UNREACHED[error] ?? adviceOn(error) ?? 'Try again in a moment.');
}

/** Judges the first request, which has a good signature. All others are compared with its answer. */
export function judgeReach(seen: SeenAnswer, setting: Pick<Setting, 'now' | 'lifetimeMs'>): ExaminationFinding {
  const { answer } = seen;
  if (answer.kind === 'no_answer') {
    if (answer.error !== 'tls_error') return judgeSilence('reachable', seen);
    const code = answer.code ?? '';
    const [, text, advice] = TLS_PROBLEMS.find(([pattern]) => pattern.test(code)) ?? [
      ...[/./, `TLS failed (${code === '' ? 'no code' : code})`, 'Test it with: openssl s_client -connect HOST:443'],
    ];
    return failed('TLS', String(text), String(advice));
  }
  const { statusCode } = answer;
  const after = `answered ${statusCode} in ${Math.round(seen.durationMs)} ms`;
  if (isSuccess(statusCode)) return ok('reachable', after);
  if (statusCode >= 300 && statusCode <= 399) {
    const { location } = seen.headers;
    const to = typeof location === 'string' ? ` to ${location.slice(0, 200)}` : '';
    return failed(
      'no redirect',
      `${after}${to}`,
      'Jobferry follows no redirect: set the last address as the webhook URL.',
    );
  }
  if (statusCode === 401 || statusCode === 403) {
    const advice = `The receiver refused a good signature. Compare its secret with that of the queue; if they are equal, it does not compute the HMAC over the raw bytes of the body.${lineFor('raw body', seen)}`;
    return failed('good signature', after, advice);
  }
  if (isBackpressure(statusCode)) {
    return warning(
      'reachable',
      `${after}. ${holdOf(answer, setting)}`,
      'The receiver is busy. Check it again when it is not.',
    );
  }
  if (statusCode === 404 || statusCode === 405 || statusCode === 410 || statusCode >= 500) {
    return failed(
      'reachable',
      after,
      'Compare the path of the webhook URL with that of the receiver, and read its log.',
    );
  }
  return warning(
    'reachable',
    `${after} to the test payload`,
    "The receiver may expect other payloads: give one that it takes, with --payload '{…}'.",
  );
}

/** A sentence on how Jobferry reads an answer that asks it to wait. */
export function holdOf(
  { retryAfter }: { retryAfter: string | null },
  { now, lifetimeMs }: Pick<Setting, 'now' | 'lifetimeMs'>,
): string {
  const ms = readRetryAfter(retryAfter, now);
  if (ms !== null && ms >= lifetimeMs) return 'By its Retry-After a job would wait past its lifetime, so it would die';
  if (ms !== null) return `By its Retry-After a job would be held for ${Math.round(ms) / 1000} s`;
  const why = retryAfter === null ? 'It has no Retry-After' : 'Its Retry-After is neither seconds nor an HTTP date';
  return `${why}, so a job would be held for ${DEFAULT_HOLD_MS / 1000} s`;
}

/** Judges a request that a receiver must refuse. @param isRawBody whether only its body was changed */
export function judgeForgery(
  name: string,
  { first, seen, sent }: { first: SeenAnswer; seen: SeenAnswer; sent: string },
  { signatureHeader }: Pick<Setting, 'signatureHeader'>,
  isRawBody = false,
): ExaminationFinding {
  const status = statusOf(seen);
  if (status === null) return judgeSilence(name, seen);
  if (isBackpressure(status)) return skipped(name, `the receiver is busy: answered ${status}`);
  if (isSuccess(status)) {
    const verify = `Anyone who knows the address can send jobs: verify ${signatureHeader}, and answer 401 when it is missing or wrong.`;
    return failed(name, `accepted ${sent} with ${status}`, isRawBody ? `${RAW}${lineFor('raw body', seen)}` : verify);
  }
  if (status !== 401 && status !== 403 && status === statusOf(first)) {
    return skipped(name, `answered ${status} as to a good request, so nothing shows that it is verified`);
  }
  return ok(name, `refused with ${status}`);
}

const RAW = 'The signature is compared over a parsed body that was written again: compute it over the raw bytes.';

/** The kind of a request that a receiver must take as it took the first one, although it is unusual. */
export type Unusual = 'next signature' | 'big numbers' | 'duplicate keys' | '1 MiB' | 'same id twice';

export function judgeUnusual(
  name: Unusual,
  { first, seen }: { first: SeenAnswer; seen: SeenAnswer },
  { signatureHeader }: Pick<Setting, 'signatureHeader'>,
): ExaminationFinding {
  const [expected, status] = [statusOf(first), statusOf(seen)];
  const size = `Allow bodies of 1 MiB, or publish smaller payloads.${lineFor('body size', seen)}`;
  if (status === null) return { ...judgeSilence(name, seen), ...(name === '1 MiB' ? { advice: size } : {}) };
  if (isAlike(first, seen)) return ok(name, `answered ${status}`);
  const text = `answered ${status}, and ${expected} to the first request`;
  if (isBackpressure(status)) return skipped(name, `the receiver is busy: answered ${status}`);
  if (name === '1 MiB' && status === 413) return failed(name, text, size);
  if (name === 'next signature') {
    const advice = `During a rotation, accept both secrets in ${signatureHeader}, or read ${signatureHeader}-next, too.`;
    return warning(name, text, advice);
  }
  if (name === 'same id twice') {
    const advice = 'A delivery can come twice: answer 2xx to an id that was handled before, or it is tried again.';
    return failed(name, text, advice);
  }
  if (status === 401 || status === 403) return failed(name, text, `${RAW}${lineFor('raw body', seen)}`);
  if (status === 400 || status === 422) {
    return skipped(name, `answered ${status}: the receiver refuses the additional member jobferryCheck`);
  }
  return failed(name, text, 'Read the log of the receiver.');
}

/** Judges several requests at once. */
export function judgeTogether(
  first: SeenAnswer,
  all: readonly SeenAnswer[],
  setting: Omit<Setting, 'signatureHeader'>,
): ExaminationFinding {
  const name = 'at once';
  const others = all.filter((seen) => !isAlike(first, seen));
  const sorted = all.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
  const p95 = Math.round(sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0);
  const times = `${all.length} requests, 95 % within ${p95} of ${setting.timeoutMs} ms`;
  const busy = others
    .map(({ answer }) => answer)
    .find((answer) => answer.kind === 'answered' && isBackpressure(answer.statusCode));
  if (busy?.kind === 'answered') {
    return ok(name, `${times}; ${others.length} answered ${busy.statusCode}. ${holdOf(busy, setting)}`);
  }
  const [other] = others;
  if (other !== undefined) {
    const got = other.answer.kind === 'answered' ? `status ${other.answer.statusCode}` : other.answer.error;
    const advice = 'Lower the concurrency of the queue, or answer 429 with Retry-After when busy.';
    return failed(name, `${others.length} ended with ${got}; ${times}`, advice);
  }
  if (p95 <= setting.timeoutMs / 3) return ok(name, times);
  return warning(name, times, 'Little is left before the time limit: answer earlier, or use ack mode.');
}

/** Whether a request was taken as the first one was. */
function isAlike(first: SeenAnswer, seen: SeenAnswer): boolean {
  const [expected, status] = [statusOf(first), statusOf(seen)];
  return status === expected || (isSuccess(status) && isSuccess(expected));
}

export function statusOf({ answer }: SeenAnswer): number | null {
  return answer.kind === 'answered' ? answer.statusCode : null;
}

export function isSuccess(statusCode: number | null): boolean {
  return statusCode !== null && statusCode >= 200 && statusCode <= 299;
}
