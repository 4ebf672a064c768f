/**
 * The trace context of a job (https://www.w3.org/TR/trace-context/), as it is stored: a `traceparent`, and after a
 * space the `tracestate` if there is one.
 */

/** Version, trace id, parent id, flags; a later version may have more after that. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_PARENT = '0'.repeat(16);
const SAMPLED = 1;
/** The flags with a meaning: sampled, and random trace id. */
const KNOWN_FLAGS = 3;
/** Length that every implementation has to accept. A longer `tracestate` is dropped. */
const MAX_TRACESTATE = 512;
const MAX_MEMBERS = 32;
/** A member of a `tracestate`: a key, with a tenant before it or not, and a value without comma and equals sign. */
const MEMBER = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

const TRACEPARENT_LENGTH = 55;

/**
 * Stored instead of a trace context that began in Jobferry and is not sampled: most jobs of a service that samples a
 * few, and nothing but a delivery needs such a context.
 */
export const NOT_SAMPLED = '-';

/** @returns the trace context of a job as it was stored, with one made from its id in place of `NOT_SAMPLED` */
export function traceOfJob(stored: string | null, jobId: string): string | null {
  return stored === NOT_SAMPLED ? `00-${jobId}${jobId.slice(16)}-${jobId.slice(8)}-00` : stored;
}

/**
 * The headers of a request by their names in lower case. Node joins equal ones,
 * so two `traceparent` are not well-formed.
 */
type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** @returns the trace context of a request; null if there is none, or its `traceparent` is not well-formed */
export function traceOf({ traceparent, tracestate }: Headers): string | null {
  return typeof traceparent === 'string' ? storedTrace(traceparent, tracestate) : null;
}

function storedTrace(traceparent: string, tracestate: Headers[string]): string | null {
  const [, version, traceId, parentId, flags = '', rest] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff' || traceId === NO_TRACE || parentId === NO_PARENT) return null;
  if (version === '00' && rest !== undefined) return null;
  const known = `00-${traceId}-${parentId}-0${Number.parseInt(flags, 16) & KNOWN_FLAGS}`;
  const state = typeof tracestate === 'string' ? tracestate.trim() : '';
  return isTracestate(state) ? `${known} ${state}` : known;
}

/** Whether the text has members, and all of them are well-formed. Empty members are allowed. */
function isTracestate(text: string): boolean {
  if (text.length > MAX_TRACESTATE) return false;
  const members = text
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  return members.length > 0 && members.length <= MAX_MEMBERS && members.every((member) => MEMBER.test(member));
}

/** The parts of a stored trace context. */
interface TraceParts {
  traceId: string;
  /** Id of the span that the next one has as its parent. */
  spanId: string;
  flags: number;
  /** Empty if there is none. */
  state: string;
}

export function partsOf(trace: string): TraceParts {
  return {
    traceId: trace.slice(3, 35),
    spanId: trace.slice(36, 52),
    flags: Number.parseInt(trace.slice(53, TRACEPARENT_LENGTH), 16),
    state: trace.slice(TRACEPARENT_LENGTH + 1),
  };
}

/** Whether the service that began the stored trace context asks for its spans. */
export function isSampled(trace: string): boolean {
  return (partsOf(trace).flags & SAMPLED) !== 0;
}

export function traceFrom({ traceId, spanId, flags, state }: TraceParts): string {
  const traceparent = `00-${traceId}-${spanId}-0${flags & KNOWN_FLAGS}`;
  return state === '' || state.length > MAX_TRACESTATE ? traceparent : `${traceparent} ${state}`;
}

/** @returns undefined without a trace context: a field that is undefined is not logged */
export function traceIdOf(trace: string | null): string | undefined {
  return trace === null ? undefined : trace.slice(3, 35);
}

/** Names and values of the headers that carry a stored trace context, in turn. */
export function traceHeaders(trace: string): string[] {
  const traceparent = trace.slice(0, TRACEPARENT_LENGTH);
  const state = trace.slice(TRACEPARENT_LENGTH + 1);
  return state === '' ? ['traceparent', traceparent] : ['traceparent', traceparent, 'tracestate', state];
}
