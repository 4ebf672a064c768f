import { ATTEMPT_STATUSES, DEAD_REASONS } from './job.ts';

/** How a webhook's answer is classified (spec "Receiver response rules", D6, D12, D15). */

/** Short and stable names for "no answer" (D12); history and `lastError` show them. */
export const DELIVERY_ERRORS = [
  'timeout',
  'connection_refused',
  'dns_error',
  'tls_error',
  'address_not_allowed',
  'reset',
  'invalid_response',
  'network_error',
] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/**
 * Why a delivery could not begin although no receiver is to blame: parts of the operator's own network, or limits of
 * the process (D38). Such a delivery is no attempt.
 */
export const OWN_FAILURES = ['proxy_unreachable', 'resolver_unreachable', 'no_descriptors', 'no_local_port'] as const;
export type OwnFailure = (typeof OWN_FAILURES)[number];

export function isOwnFailure(error: string | null): error is OwnFailure {
  return (OWN_FAILURES as readonly (string | null)[]).includes(error);
}

const OWN_ERRORS: ReadonlySet<string> = new Set([
  ...DELIVERY_ERRORS,
  ...OWN_FAILURES,
  ...DEAD_REASONS,
  ...ATTEMPT_STATUSES,
  'worker_lost',
]);

/**
 * Whether the text of a failure is one of Jobferry's own. The other texts are reasons that a worker sent with a nack or
 * a defer.
 */
export function isOwnError(text: string): boolean {
  return OWN_ERRORS.has(text) || /^HTTP \d{3}$/.test(text);
}

/** Returns a sentence on what to do about an error whose name does not say it; null for the others. */
export function adviceOn(error: string | null): string | null {
  if (isOwnFailure(error)) return `${OWN_ADVICE[error]} No attempt was used.`;
  return error === null ? null : (RECEIVER_ADVICE[error] ?? null);
}

const RECEIVER_ADVICE: Readonly<Record<string, string>> = {
  address_not_allowed: 'The address of the webhook is not public: the operator can allow it with WEBHOOK_ALLOW_CIDRS.',
  tls_error:
    'The certificate of the receiver was not accepted: it has expired, is for another name, or its authority is not known here. A check of the receiver says which.',
  'HTTP 401': 'Most likely the receiver refused the signature: compare its signing secret with that of the queue.',
};

const OWN_ADVICE: Readonly<Record<OwnFailure, string>> = {
  proxy_unreachable: 'Jobferry cannot reach its own proxy (WEBHOOK_PROXY_URL).',
  resolver_unreachable: 'None of Jobferry’s name servers answers.',
  no_descriptors: 'The sending process has no file descriptors left: raise its limit (ulimit -n).',
  no_local_port: 'The sending machine has no local port left.',
};

/** The result of a request to the webhook, before it is classified. */
export type DeliveryAnswer =
  | { kind: 'answered'; statusCode: number; retryAfter: string | null; isPermanent?: boolean }
  /** `code`: of a certificate that was not accepted, such as `CERT_HAS_EXPIRED`. It is shown, and decides nothing. */
  | { kind: 'no_answer'; error: DeliveryError | OwnFailure; code?: string };

/** The classified result of one delivery. */
export type Outcome =
  | { kind: 'accepted'; statusCode: number }
  | { kind: 'backpressure'; statusCode: number; retryAfterMs: number }
  /** `isPermanent`: the receiver has said that the job must not be tried again (D39). */
  | { kind: 'failed'; statusCode: number | null; error: string; isPermanent?: boolean }
  /** The delivery could not begin. */
  | { kind: 'unsent'; statusCode: null; error: OwnFailure };

/** The outcomes of an attempt. */
export type AttemptOutcome = Exclude<Outcome, { kind: 'unsent' }>;

/** Used when a backpressure answer has no usable Retry-After (spec "Receiver response rules"). */
export const DEFAULT_HOLD_MS = 60_000;

const BACKPRESSURE_CODES: ReadonlySet<number> = new Set([429, 503, 529]);

export function isBackpressure(statusCode: number): boolean {
  return BACKPRESSURE_CODES.has(statusCode);
}

/** @param now database time in milliseconds, for a Retry-After given as a date */
export function classify(answer: DeliveryAnswer, now: number): Outcome {
  if (answer.kind === 'no_answer') {
    const { error } = answer;
    return isOwnFailure(error)
      ? { kind: 'unsent', statusCode: null, error }
      : { kind: 'failed', statusCode: null, error };
  }
  const { statusCode, isPermanent = false } = answer;
  if (statusCode >= 200 && statusCode <= 299) return { kind: 'accepted', statusCode };
  if (isBackpressure(statusCode) && !isPermanent) {
    return { kind: 'backpressure', statusCode, retryAfterMs: retryAfterMs(answer.retryAfter, now) };
  }
  return { kind: 'failed', statusCode, error: `HTTP ${statusCode}`, ...(isPermanent ? { isPermanent } : {}) };
}

/**
 * The date forms of RFC 9110. Senders may use the first one only, recipients accept all;
 * `Date.parse` alone accepts far too much.
 */
const HTTP_DATES = [
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/,
  /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/,
];

/**
 * Parses a Retry-After header, seconds or a date, into milliseconds. An invalid value counts as 60 s, a past date as 0;
 * `stretchedHoldMs` bounds how often a job may get 0 (D6).
 */
export function retryAfterMs(header: string | null, now: number): number {
  return readRetryAfter(header, now) ?? DEFAULT_HOLD_MS;
}

/** As `retryAfterMs`, but null if the header is absent or invalid. */
export function readRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? '';
  if (/^-?\d+(\.\d+)?$/.test(text)) return Math.max(0, Math.ceil(Number(text) * 1000));
  const date = readHttpDate(text, now);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

function readHttpDate(text: string, now: number): number {
  for (const form of HTTP_DATES) {
    const { day = '', month, year = '', time } = form.exec(text)?.groups ?? {};
    if (month !== undefined) return Date.parse(`${day.trim()} ${month} ${wholeYear(year, now)} ${time} GMT`);
  }
  return Number.NaN;
}

/** RFC 9110: two digits that seem to be more than 50 years ahead are the last year in the past that has them. */
function wholeYear(digits: string, now: number): number {
  const year = Number(digits);
  if (digits.length > 2) return year;
  const present = new Date(now).getUTCFullYear();
  const inThisCentury = present - (present % 100) + year;
  return inThisCentury > present + 50 ? inThisCentury - 100 : inThisCentury;
}
