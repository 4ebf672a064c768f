/** A delivery that the handler refuses before your function is called, and what is said about it. */

/** Why a delivery was refused. */
export type RefusalCause =
  | 'no signature'
  | 'wrong signature'
  | 'parsed body'
  | 'too large'
  | 'no job'
  | 'wrong payload'
  | 'not set up';

/** Argument of `onRefused`. */
export interface Refusal {
  /** Stays the same from version to version, for your own counts. */
  cause: RefusalCause;
  /** HTTP status of the answer. */
  status: number;
  /** The mistake, and how to fix it. */
  message: string;
  /** The error of a missing option, or the problems of a payload; undefined for other causes. */
  detail?: unknown;
}

interface Text {
  status: number;
  /** In the answer, which its sender sees. */
  error: string;
  /** For the log, after `error`. */
  advice: string;
}

export const REFUSALS: Readonly<Record<RefusalCause, Text>> = {
  'no signature': {
    status: 401,
    error: 'the signature is not valid',
    advice:
      'it has no signature, so it may not come from Jobferry. If it does, compare the option signatureHeader with the SIGNATURE_HEADER of the service.',
  },
  'wrong signature': {
    status: 401,
    error: 'the signature is not valid',
    advice:
      'its signature fits no secret. Compare the option secret with the signingSecret of the queue; if that is right, something between Jobferry and this handler changes the body.',
  },
  'parsed body': {
    status: 500,
    error:
      'the body was parsed before the webhook handler, and the signature is over its bytes: ' +
      'mount the handler before express.json(), or give this route express.raw({ type: "*/*" }); ' +
      'give the handler of fetch the request as it came in',
    advice: '',
  },
  'too large': {
    status: 413,
    error: 'the body is larger than maxBodyBytes',
    advice: 'raise the option maxBodyBytes above the MAX_BODY_BYTES of the service.',
  },
  'no job': {
    status: 400,
    error: 'the body is not a job',
    advice: 'its signature is right, but it is not a delivery. Is something else signed with the same secret?',
  },
  'wrong payload': {
    status: 422,
    error: 'the payload does not fit the schema',
    advice: 'its job is dead. Fix the publisher or the schema, and then replay the dead letter.',
  },
  'not set up': {
    status: 500,
    error: 'the webhook handler is not set up: its log says what is missing',
    advice: '',
  },
};

const QUIET_MS = 60_000;

/** Writes each cause to the console at once, and then at most once a minute, with the number of those in between. */
export function createRefusalLog(now: () => number = () => performance.now()): (refusal: Refusal) => void {
  const causes = new Map<RefusalCause, { loggedAt: number; silent: number }>();
  return ({ cause, status, message, detail }) => {
    const seen = causes.get(cause);
    if (seen !== undefined && now() - seen.loggedAt < QUIET_MS) {
      seen.silent += 1;
      return;
    }
    const before = seen === undefined || seen.silent === 0 ? '' : ` (${seen.silent} more in between)`;
    causes.set(cause, { loggedAt: now(), silent: 0 });
    console.warn(
      `The webhook handler answered a delivery with ${status}: ${message}${before}`,
      ...(detail === undefined ? [] : [detail]),
    );
  };
}
