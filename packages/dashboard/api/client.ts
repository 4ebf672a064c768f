import { type Operation, textOf } from '../../query/schema/graphql.ts';
import { serverNow } from '../base/clock.ts';
import { signedOut } from '../base/session.ts';
import { kindOfStatus, LOST, RequestError } from './errors.ts';

/** Without it the server ignores the session's cookie. Other sites cannot send it, as it needs their preflight. */
export const DASHBOARD_HEADER = { 'jobferry-dashboard': '1' };

/** The address of a path of the server, below the path under which it serves the dashboard. */
export function urlOf(path: string): string {
  return new URL(path, document.baseURI).href;
}

/** Operations match the schema of the page's build. A validation error means that the server has another version. */
const OTHER = 'A process of another version of Jobferry answered, which does not know what this page asks for.';

/** Sends one operation. Throws a `RequestError`; refusals that the schema knows are results, see `outcomeOf`. */
export async function request<Result, Variables>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Result> {
  const query = textOf(operation);
  const isMutation = /^\s*mutation/.test(query) && (variables as { dryRun?: boolean }).dryRun !== true;
  const { response, body } = await send(JSON.stringify({ query, variables }), isMutation, signal);
  const details = { at: serverNow(), status: response.status, retryAfterMs: retryAfterOf(response) };
  const [failure] = body?.errors ?? [];
  if (!response.ok) {
    if (response.status === 401) signedOut();
    const isOther = failure?.extensions?.code === 'GRAPHQL_VALIDATION_FAILED';
    const unsaid = isMutation && response.status >= 500 ? LOST : `The server answered ${response.status}.`;
    const message = isOther ? OTHER : (body?.error ?? failure?.message ?? unsaid);
    throw new RequestError(isOther ? 'version' : kindOfStatus(response.status), message, details);
  }
  // A page that lacks a part is worse than one that says why: an error of a field fails the operation.
  if (failure !== undefined || body?.data == null) {
    const message = failure?.message ?? 'The answer is not from Jobferry. Does a proxy ask for a sign-in?';
    throw new RequestError('refused', message, details);
  }
  return body.data as Result;
}

async function send(body: string, isMutation: boolean, signal?: AbortSignal) {
  try {
    const response = await fetch(urlOf('graphql'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json', ...DASHBOARD_HEADER },
      body,
      credentials: 'same-origin',
      signal: signal ?? null,
    });
    return { response, body: await bodyOf(response) };
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError('network', isMutation ? LOST : 'The server could not be reached.', { at: serverNow() });
  }
}

interface Body {
  data?: unknown;
  error?: string;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Returns null if the body is no JSON, as when a proxy answers. */
async function bodyOf(response: Response): Promise<Body | null> {
  try {
    return (await response.json()) as Body;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function retryAfterOf(response: Response): number | null {
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}
