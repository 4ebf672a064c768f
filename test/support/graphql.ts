import { errorLinesOf } from './error-lines.ts';
import { saysNothingWasStored } from './refusal.ts';
import { waitFor } from './wait-for.ts';

/** A GraphQL client for the tests: plain HTTP, so that what is tested is what goes over the wire. */
export interface GraphQLAnswer<Data> {
  status: number;
  headers: Headers;
  data: Data;
  errors:
    | { message: string; path?: (string | number)[]; extensions?: { code?: string; requestId?: string } }[]
    | undefined;
  text: string;
}

// biome-ignore lint/suspicious/noExplicitAny: every query has a shape of its own, and the test says which
type AnyData = any;

export type GraphQL = ReturnType<typeof createGraphQLClient>;

/** @param client an API key, or the headers of a browser with a session */
export function createGraphQLClient(baseUrl: string, client: string | Record<string, string>) {
  const headers: Record<string, string> =
    typeof client === 'string' ? { authorization: `Bearer ${client}`, 'content-type': 'application/json' } : client;

  async function send<Data = AnyData>(query: string, variables: object = {}): Promise<GraphQLAnswer<Data>> {
    const body = JSON.stringify({ query, variables });
    const response = await fetch(`${baseUrl}/graphql`, { method: 'POST', headers, body });
    const text = await response.text();
    const parsed = JSON.parse(text) as Pick<GraphQLAnswer<Data>, 'data' | 'errors'>;
    const { status, headers: answered } = response;
    return { status, headers: answered, data: parsed.data, errors: parsed.errors, text };
  }

  return {
    send,
    /** For queries that must work. A busy machine may refuse one, which is repeated, as every client should. */
    async query<Data = AnyData>(query: string, variables: object = {}): Promise<Data> {
      const answer = await waitFor(async () => {
        const given = await send<Data>(query, variables);
        return given.errors?.some(isRepeatable) === true ? null : given;
      });
      if (answer.errors === undefined) return answer.data;
      const logged = errorLinesOf(answer.errors.map(({ extensions }) => extensions?.requestId));
      throw new Error(
        `GraphQL answered ${JSON.stringify(answer.errors)}${logged.map((line) => `\n${JSON.stringify(line)}`)}`,
      );
    },
    /** Events of a subscription, as they come; ends the request when the consumer stops. */
    subscribe<Data = AnyData>(query: string, variables: object = {}): Subscription<Data> {
      return openSubscription(`${baseUrl}/graphql`, headers, JSON.stringify({ query, variables }));
    },
  };
}

/**
 * Whether an error is that of a query, or of a mutation that has changed nothing,
 * on a machine that was too busy for it.
 */
function isRepeatable({ message, extensions }: { message: string; extensions?: { code?: string } }): boolean {
  return extensions?.code === 'UNAVAILABLE' && (saysNothingWasStored(message) || !message.includes('stored'));
}

export interface Subscription<Data> {
  /** The answer's head; resolves when it is there. */
  readonly opened: Promise<Response>;
  /** The next event; rejects when none comes in time, or the stream has ended. */
  next(timeoutMs?: number): Promise<{ data: Data; errors?: { message: string }[] }>;
  /** Events until one meets the condition, that one last. */
  until(condition: (data: Data) => boolean, timeoutMs?: number): Promise<Data[]>;
  close(): void;
}

/** Generous: it only ends tests that fail anyway. */
const PATIENCE_MS = 60_000;

export function openSubscription<Data>(url: string, headers: Record<string, string>, body: string): Subscription<Data> {
  const abort = new AbortController();
  const opened = fetch(url, {
    method: 'POST',
    headers: { ...headers, accept: 'text/event-stream' },
    body,
    signal: abort.signal,
  });
  const events = eventsOf<{ data: Data }>(opened);
  const subscription: Subscription<Data> = {
    opened,
    async next(timeoutMs = PATIENCE_MS) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`no event came within ${timeoutMs} ms`)), timeoutMs);
      });
      try {
        const event = await Promise.race([events.next(), late]);
        if (event.done === true) throw new Error('the stream has ended');
        return event.value;
      } finally {
        clearTimeout(timer);
      }
    },
    async until(condition, timeoutMs = PATIENCE_MS) {
      const seen: Data[] = [];
      const giveUpAt = performance.now() + timeoutMs;
      for (;;) {
        const { data } = await subscription.next(Math.max(1, giveUpAt - performance.now()));
        seen.push(data);
        if (condition(data)) return seen;
      }
    },
    close: () => abort.abort(),
  };
  return subscription;
}

async function* eventsOf<Event>(opened: Promise<Response>): AsyncGenerator<Event, void, undefined> {
  const response = await opened;
  if (response.body === null) return;
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: ?(.+)$/m.exec(block)?.[1];
      if (data !== undefined) yield JSON.parse(data) as Event;
    }
  }
}
