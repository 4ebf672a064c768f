import { seconds } from './format.ts';

/** Errors of deliveries in words, as the end of "because …". */
const CAUSES: Readonly<Record<string, string>> = {
  connection_refused: 'the receiver refused the connection',
  dns_error: 'its host name was not found',
  reset: 'the receiver cut the connection',
  tls_error: 'its certificate was not accepted',
  address_not_allowed: 'its address is not allowed here',
  invalid_response: 'its answer was not valid HTTP',
  network_error: 'the network failed',
  ack_timeout: 'the worker did not report in time',
  worker_lost: 'Jobferry’s own worker was lost ten times',
};

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
  return CAUSES[error] ?? `the worker said “${error}”`;
}

/** In a row: the code, else the error without its underscores. */
export function shortCause(error: string | null): string {
  if (error === null || error === '') return '';
  const code = codeOf(error);
  if (code !== null) return String(code);
  return error in CAUSES ? error.replaceAll('_', ' ') : error;
}
