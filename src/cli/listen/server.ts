import { request } from 'undici';

/** The requests of a listening client to a Jobferry. They use the port and the key of the API, and only go out. */

/** A refusal that another try would not change. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

export interface ListenedQueue {
  id: string;
  name: string;
  webhookUrl: string;
}

/** `TunnelDelivery` of GraphQL. */
export interface WireDelivery {
  id: string;
  jobId: string;
  attempt: number;
  headers: string[];
  body: string;
  timeoutMs: number;
}

/** `TunnelEvent` of GraphQL. */
export interface WireEvent {
  /** Null for copies. */
  tunnelId: string | null;
  /** Number of changed jobs without a copy. */
  more: number;
  deliveries: WireDelivery[];
}

/** `TunnelAnswerInput` of GraphQL. */
export interface WireAnswer {
  deliveryId: string;
  statusCode?: number;
  retryAfter?: string;
  outcome?: string;
  body?: string;
  error?: string;
}

export interface Server {
  /** @throws Refused if there is no such queue */
  queue(nameOrId: string): Promise<ListenedQueue>;
  /** Yields the events of a tunnel until it or the connection ends. @throws Refused */
  tunnel(queueId: string, isForced: boolean, signal: AbortSignal): AsyncGenerator<WireEvent, void, undefined>;
  /** Yields copies of deliveries. @throws Refused */
  tap(queueId: string, signal: AbortSignal): AsyncGenerator<WireEvent, void, undefined>;
  answer(tunnelId: string, answers: readonly WireAnswer[]): Promise<void>;
  end(tunnelId: string): Promise<void>;
}

const ANSWER_MS = 10_000;
const END_MS = 2000;
/** The service sends a comment every twelve seconds. */
const SILENT_MS = 30_000;

const TUNNEL = `subscription ($queueId: ID!, $force: Boolean!) { tunnel(queueId: $queueId, force: $force) {
  tunnelId more deliveries { id jobId attempt headers body timeoutMs } } }`;
const TAP = `subscription ($queueId: ID!) { deliveryCopies(queueId: $queueId) {
  tunnelId more deliveries { id jobId attempt headers body timeoutMs } } }`;
const ANSWER = `mutation ($tunnelId: ID!, $answers: [TunnelAnswerInput!]!) {
  answerTunnel(tunnelId: $tunnelId, answers: $answers) { tunnelId } }`;
const END = 'mutation ($tunnelId: ID!) { endTunnel(tunnelId: $tunnelId) { tunnelId } }';
const QUEUE = 'query ($id: ID, $name: String) { queue(id: $id, name: $name) { id name webhookUrl } }';

interface GraphQLResult<T> {
  data?: T | null;
  errors?: { message: string; extensions?: { code?: string } }[];
}

/** Codes that another try may change. */
const PASSING: ReadonlySet<string | undefined> = new Set(['UNAVAILABLE', 'INTERNAL_SERVER_ERROR']);

/**
 * @param stopping ends the requests, except the one that ends a tunnel
 * @param answerMs time for a whole answer, and for the head of a stream
 */
export function createServer(url: string, apiKey: string, stopping: AbortSignal, answerMs = ANSWER_MS): Server {
  const endpoint = `${url.replace(/\/+$/, '')}/graphql`;
  const post = (query: string, variables: object, accept: string, signal: AbortSignal) =>
    request(endpoint, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', accept },
      body: JSON.stringify({ query, variables }),
      signal,
      headersTimeout: answerMs,
      bodyTimeout: SILENT_MS,
    });

  async function ask<T>(query: string, variables: object, signal: AbortSignal): Promise<T> {
    const answer = await post(query, variables, 'application/json', signal);
    const text = await answer.body.text();
    return dataOf<T>(answer.statusCode, text);
  }

  /**
   * Not with `AbortSignal.any`: Node.js 20 keeps an entry in `stopping` for each call,
   * and loses the time-out in a garbage collection.
   */
  async function askInTime<T>(query: string, variables: object): Promise<T> {
    const limit = new AbortController();
    const stop = () => limit.abort(stopping.reason);
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${answerMs} ms`)), answerMs);
    if (stopping.aborted) stop();
    else stopping.addEventListener('abort', stop, { once: true });
    try {
      return await ask(query, variables, limit.signal);
    } finally {
      clearTimeout(timer);
      stopping.removeEventListener('abort', stop);
    }
  }

  async function* events<Field extends string>(query: string, field: Field, variables: object, signal: AbortSignal) {
    const answer = await post(query, variables, 'text/event-stream', signal);
    if (answer.headers['content-type']?.includes('text/event-stream') !== true) {
      dataOf(answer.statusCode, await answer.body.text());
      throw new Error('the service did not answer with a stream');
    }
    for await (const data of eventData(answer.body)) {
      yield dataOf<Record<Field, WireEvent>>(200, data)[field];
    }
  }

  return {
    async queue(nameOrId) {
      const byName = { name: nameOrId };
      const byId = { id: nameOrId };
      const isId = /^[0-9a-f]{24}$/.test(nameOrId);
      for (const variables of isId ? [byId, byName] : [byName]) {
        const { queue } = await askInTime<{ queue: ListenedQueue | null }>(QUEUE, variables);
        if (queue !== null) return queue;
      }
      throw new Refused(`queue ${nameOrId} does not exist`);
    },
    tunnel: (queueId, force, signal) => events(TUNNEL, 'tunnel', { queueId, force }, signal),
    tap: (queueId, signal) => events(TAP, 'deliveryCopies', { queueId }, signal),
    async answer(tunnelId, answers) {
      await askInTime(ANSWER, { tunnelId, answers });
    },
    async end(tunnelId) {
      await ask(END, { tunnelId }, AbortSignal.timeout(END_MS));
    },
  };
}

/** @throws Refused for an error that stays */
function dataOf<T>(statusCode: number, text: string): T {
  if (statusCode === 401) throw new Refused('the service does not know the API key');
  let result: GraphQLResult<T> & { error?: string };
  try {
    result = JSON.parse(text) as typeof result;
  } catch {
    const message = `the answer has the status ${statusCode}, and is not from Jobferry`;
    // A proxy may answer so: the body is too large, or the address is wrong.
    throw isRefusal(statusCode) ? new Refused(message) : new Error(message);
  }
  const [error] = result.errors ?? [];
  if (error === undefined && result.data != null) return result.data;
  const message = error?.message ?? result.error ?? `status ${statusCode}`;
  const stays = error === undefined ? isRefusal(statusCode) : !PASSING.has(error.extensions?.code);
  throw stays ? new Refused(message) : new Error(message);
}

function isRefusal(statusCode: number): boolean {
  return statusCode >= 300 && statusCode < 500 && statusCode !== 408 && statusCode !== 429;
}

/** Yields the data of each event of a stream; comments and events without data are passed over. */
async function* eventData(body: AsyncIterable<Buffer>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const events = rest.split('\n\n');
    rest = events.pop() ?? '';
    for (const event of events) {
      const lines = event.split('\n');
      // The last event of a stream, which has nothing.
      if (lines.includes('event: complete')) return;
      const data = lines.flatMap((line) => (line.startsWith('data: ') ? [line.slice('data: '.length)] : []));
      if (data.length > 0) yield data.join('\n');
    }
  }
}
