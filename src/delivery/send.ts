import { Agent, type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { createAddressGuard, createGuardedConnector } from './address-guard.ts';
import { createDnsLookup } from './dns-lookup.ts';
import { type ConnectionUse, Exchange, type ExchangeOptions, type SendResult } from './exchange.ts';
import { passOverInterimAnswers } from './interim-answers.ts';
import { createProxiedConnector } from './proxy.ts';
import { type Lookup, shareLookups } from './resolver.ts';
import { sign } from './signature.ts';

export type { SendResult } from './exchange.ts';

export interface SenderOptions {
  /** One deadline over connect, headers and body (spec "Receiver response rules"). */
  timeoutMs: number;
  signatureHeader: string;
  /** Addresses that may be called although they are not public, as CIDRs. */
  allowCidrs: string[];
  /** Name servers, as `ip` or `ip:port`; null for the system's. */
  dnsServers?: readonly string[] | null | undefined;
  /** In place of asking name servers. */
  lookup?: Lookup | undefined;
  /** PEM certificates to trust in place of Node's own list. */
  ca?: string | undefined;
  /** Open connections above which no more are kept for the next delivery. */
  maxSockets?: number | undefined;
  /** An HTTP proxy for all deliveries, which has to judge addresses itself (R7). */
  proxyUrl?: string | undefined;
}

export interface SendRequest {
  /** Whose share of the look-ups this may use. */
  accountId?: string | undefined;
  /** As `parseWebhookUrl` gave it. */
  url: string;
  secret: string;
  /** During a rotation: signs an extra header, so that strict receivers see one signature in theirs. */
  nextSecret?: string | null | undefined;
  body: Buffer;
  /**
   * Asked before connecting and right before each socket write: whether a request that is written now, and ends within
   * so many milliseconds, is still ours to make. `false` abandons the send.
   */
  stillMine?: ((remainingMs: number) => boolean) | undefined;
}

export interface Sender {
  /** Never rejects: whatever goes wrong is an answer of kind `no_answer`. */
  send(request: SendRequest): Promise<SendResult>;
  /** Lets the sends under way end, each by its own deadline, then closes all connections. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;

/** Below the 5 s after which many servers, Node's among them, close an idle connection. */
const KEEP_ALIVE_MS = 4000;

/** `setTimeout` fires at once above this. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The outbound side: signs and posts a body. It has its own agent, shared with nothing else (R8 of
 * docs/invariants.md), which follows no redirects (R5), inflates nothing and knows no proxy but the one that it
 * is given (R7).
 */
export function createSender(options: SenderOptions): Sender {
  const timeoutMs = Math.min(options.timeoutMs, MAX_TIMER_MS);
  const guard = createAddressGuard(options);
  const { ca, proxyUrl } = options;
  const proxied = proxyUrl === undefined ? null : createProxiedConnector(guard, { proxyUrl, timeoutMs, ca });
  const asking: Asking = { accountId: '' };
  const dnsLookup = options.lookup ?? createDnsLookup({ servers: options.dnsServers ?? null });
  const lookup = shareLookups(dnsLookup, () => asking.accountId);
  const sockets = countSockets(proxied?.connect ?? createGuardedConnector(guard, { timeoutMs, lookup, ca }));
  const { connect } = sockets;
  const { maxSockets = Number.POSITIVE_INFINITY } = options;
  const pooled = createAgent({ connect, pipelining: 1 }, asking);
  // Without pipelining there is no keep-alive: every request opens a connection.
  const fresh = createAgent({ connect, pipelining: 0 }, asking);
  let underWay = 0;
  let onIdle: (() => void) | null = null;

  function end(resolve: (result: SendResult) => void, result: SendResult): void {
    underWay -= 1;
    if (underWay === 0) onIdle?.();
    resolve(result);
  }

  return {
    send(request) {
      return new Promise((resolve) => {
        underWay += 1;
        const settle = (result: SendResult) => end(resolve, result);
        const exchangeOptions = buildOptions(request, options.signatureHeader);
        if (exchangeOptions === null) settle(NOT_SENDABLE);
        else {
          const { stillMine } = request;
          const first = sockets.open < maxSockets ? pooled : fresh;
          new Exchange({ options: exchangeOptions, timeoutMs, stillMine, pooled: first, fresh, settle }).start();
        }
      });
    },
    async close() {
      if (underWay > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      await Promise.all([pooled.destroy(), fresh.destroy(), proxied?.close()]);
    },
  };
}

/** For a URL that `parseWebhookUrl` would have refused: it can only be in a row written by hand. */
const NOT_SENDABLE: SendResult = {
  answer: { kind: 'no_answer', error: 'network_error' },
  durationMs: 0,
  responseBody: null,
};

function buildOptions(request: SendRequest, signatureHeader: string): ExchangeOptions | null {
  const { accountId = '', url, secret, nextSecret, body } = request;
  if (!URL.canParse(url)) return null;
  const { origin, pathname, search } = new URL(url);
  return {
    origin,
    path: pathname + search,
    method: 'POST',
    headers: [
      'content-type',
      'application/json',
      // A compressed answer would not be readable in 4 KiB, and is never inflated.
      'accept-encoding',
      'identity',
      'user-agent',
      'jobferry',
      signatureHeader,
      sign(body, secret),
      ...(nextSecret == null ? [] : [`${signatureHeader}-next`, sign(body, nextSecret)]),
    ],
    body,
    accountId,
    connection: null,
  };
}

/**
 * The account for which a connection is being opened. Set while the connector runs: the socket asks for the look-up before
 * that returns, and cannot hand on more than a name.
 */
interface Asking {
  accountId: string;
}

/** A connector that knows how many of its sockets are open. */
function countSockets(connector: buildConnector.connector): { connect: buildConnector.connector; open: number } {
  const counted = {
    open: 0,
    connect: ((target, callback) => {
      connector(target, (...args) => {
        // Types say null without a socket; with some errors of TLS it is undefined.
        const [error, socket] = args;
        if (error === null && socket) {
          counted.open += 1;
          socket.once('close', () => {
            counted.open -= 1;
          });
        }
        callback(...args);
      });
    }) as buildConnector.connector,
  };
  return counted;
}

/** One keep-alive connection of a pool. It tells each exchange how often its socket was used. */
class Connection extends Client {
  readonly #use: ConnectionUse;

  constructor(origin: URL, options: Client.Options, asking: Asking) {
    const use: ConnectionUse = {
      requests: 0,
      accountId: '',
      awaitsAnswer: false,
      interimBytes: 0,
      hasAnswerByte: false,
    };
    const open = options.connect as buildConnector.connector;
    const connect: buildConnector.connector = (target, callback) => {
      asking.accountId = use.accountId;
      open(target, (...args) => {
        const [, socket] = args;
        if (socket) passOverInterimAnswers(socket, use, MAX_HEADER_BYTES);
        callback(...args);
      });
      asking.accountId = '';
    };
    super(origin, { ...options, connect });
    this.#use = use;
    this.on('connect', () => {
      use.requests = 0;
    });
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchangeOptions = options as ExchangeOptions;
    this.#use.accountId = exchangeOptions.accountId;
    exchangeOptions.connection = this.#use;
    return super.dispatch(options, handler);
  }
}

/** Connections per origin are not limited here: the dispatcher decides how much is under way. */
function createAgent(options: Pick<Client.Options, 'connect' | 'pipelining'>, asking: Asking): Agent {
  return new Agent({
    ...options,
    factory: (origin, poolOptions) =>
      new Pool(origin, { ...poolOptions, factory: (url, clientOptions) => new Connection(url, clientOptions, asking) }),
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The exchange's own deadline rules; these restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
