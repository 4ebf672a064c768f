import type { Socket } from 'node:net';
import { Agent, type buildConnector, Client, type Dispatcher, Pool } from 'undici';
import { parsedUrl } from '../domain/parsed-url.ts';
import { REPORT_URL_MS, signedReportText, unsignedReportUrl } from '../domain/report-url.ts';
import { traceHeaders } from '../domain/trace.ts';
import { createAddressGuard, createGuardedConnector } from './address-guard.ts';
import { createDnsLookup } from './dns-lookup.ts';
import { Egress, type EgressLog } from './egress.ts';
import { type AnswerHeaders, type ConnectionUse, Exchange, type ExchangeOptions, type SendResult } from './exchange.ts';
import { passOverInterimAnswers } from './interim-answers.ts';
import { createProxiedConnector } from './proxy.ts';
import { type Lookup, shareLookups } from './resolver.ts';
import { sign, standardHeaders } from './signature.ts';

export type { SendResult } from './exchange.ts';

export interface SenderOptions {
  /** One deadline over connect, headers and body (spec "Receiver response rules"). */
  timeoutMs: number;
  signatureHeader: string;
  /** Addresses that deliveries may reach although they are not public, as CIDRs. */
  allowCidrs: string[];
  /** Name servers, as `ip` or `ip:port`; null for those of the system. */
  dnsServers?: readonly string[] | null | undefined;
  /** Used instead of queries to name servers. */
  lookup?: Lookup | undefined;
  /** PEM certificates to trust in place of Node's own list. */
  ca?: string | undefined;
  /** Number of open connections above which new ones are closed after one delivery. */
  maxSockets?: number | undefined;
  /** An HTTP proxy for all deliveries. It must itself refuse addresses that are not public (R7). */
  proxyUrl?: string | undefined;
  /** Address that the report URLs of ack-mode deliveries begin with; null or undefined for none. */
  reportUrl?: string | null | undefined;
  log?: EgressLog | undefined;
}

/** The job of a delivery. */
export interface DeliveredJob {
  id: string;
  /** Name of the queue. */
  queue: string;
  queueId: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  /** Seconds from the 2xx to the ack deadline; null in standard mode. */
  ackTimeout: number | null;
}

export interface TestOptions {
  /** Called with a function that ends the request as if its time were over. */
  onStart?: (end: () => void) => void;
  /** The bytes that are signed in place of the body; null for a request without a signature. */
  signs?: Buffer | null;
  /** Called with the headers of the answer, and the socket that it came by. */
  onHeaders?: (headers: AnswerHeaders, socket: Socket | null) => void;
}

export interface SendRequest {
  /** The account whose share of the look-ups this delivery uses. */
  accountId?: string | undefined;
  /** The `href` of `parseWebhookUrl`. */
  url: string;
  secret: string;
  /** Set during a rotation. It signs an extra header, because a strict receiver accepts one signature per header. */
  nextSecret?: string | null | undefined;
  body: Buffer;
  /** The job of a delivery, for the headers by which logs and routers need not read the body. */
  job?: DeliveredJob | undefined;
  /** Whether the request also has the headers of Standard Webhooks (docs/decisions/0050), by the id of `job`. */
  standardWebhooks?: boolean | undefined;
  /** Set for a test request. */
  test?: TestOptions | undefined;
  /** Stored trace context that the request carries on. */
  trace?: string | null | undefined;
  /**
   * Called before connecting and directly before each socket write. Returns whether this process still holds the job's
   * claim for a request that is written now and ends within `remainingMs`. `false` abandons the send.
   */
  stillMine?: ((remainingMs: number) => boolean) | undefined;
}

export interface Sender {
  /** Never rejects: every error becomes an answer of the kind `no_answer`. */
  send(request: SendRequest): Promise<SendResult>;
  /** Remembers problems that keep this process from reaching any receiver. */
  readonly egress: Egress;
  /** Waits until the running sends have ended, each by its own deadline, then closes all connections. */
  close(): Promise<void>;
}

const MAX_HEADER_BYTES = 16 * 1024;

/** Below the 5 s after which many servers, Node's among them, close an idle connection. */
const KEEP_ALIVE_MS = 4000;

/** `setTimeout` fires at once above this. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * The outbound side: signs and posts a body. It has its own agent, shared with nothing else (R8 of
 * docs/invariants.md), which follows no redirects (R5), inflates nothing and uses no proxy except the given one
 * (R7).
 */
export function createSender(options: SenderOptions): Sender {
  const timeoutMs = Math.min(options.timeoutMs, MAX_TIMER_MS);
  const guard = createAddressGuard(options);
  const { ca, proxyUrl } = options;
  const proxied = proxyUrl === undefined ? null : createProxiedConnector(guard, { proxyUrl, timeoutMs, ca });
  const opening: Opening = { accountId: '' };
  const egress = new Egress(options.log);
  // A look-up may end after the deadline of its delivery, so what it shows is noted when it ends.
  const onAnswer = (works: boolean) =>
    works ? egress.works('resolver_unreachable') : egress.failed('resolver_unreachable');
  const dnsLookup = options.lookup ?? createDnsLookup({ servers: options.dnsServers ?? null, onAnswer });
  const lookup = shareLookups(dnsLookup, () => opening.accountId);
  const connector = proxied?.connect ?? createGuardedConnector(guard, { timeoutMs, lookup, ca });
  const sockets = countSockets(connector, () => egress.works('proxy_unreachable', 'no_descriptors', 'no_local_port'));
  const { connect } = sockets;
  const { maxSockets = Number.POSITIVE_INFINITY } = options;
  const pooled = createAgent({ connect, pipelining: 1 }, opening);
  // With `pipelining: 0` undici keeps no connection alive: every request opens one.
  const fresh = createAgent({ connect, pipelining: 0 }, opening);
  let inFlight = 0;
  let onIdle: (() => void) | null = null;

  function end(resolve: (result: SendResult) => void, result: SendResult): void {
    inFlight -= 1;
    if (inFlight === 0) onIdle?.();
    resolve(result);
  }

  return {
    send(request) {
      return new Promise((resolve) => {
        inFlight += 1;
        const settle = (result: SendResult) => end(resolve, result);
        const exchangeOptions = buildOptions(request, options);
        if (exchangeOptions === null) settle(NOT_SENDABLE);
        else {
          const { stillMine, test } = request;
          const first = sockets.open < maxSockets ? pooled : fresh;
          const exchange = new Exchange({
            options: exchangeOptions,
            timeoutMs,
            stillMine,
            pooled: first,
            fresh,
            egress,
            settle,
            onHeaders: test?.onHeaders,
          });
          exchange.start();
          test?.onStart?.(() => exchange.expire());
        }
      });
    },
    egress,
    async close() {
      if (inFlight > 0) {
        await new Promise<void>((resolve) => {
          onIdle = resolve;
        });
      }
      await Promise.all([pooled.destroy(), fresh.destroy(), proxied?.close()]);
    },
  };
}

/** The result for a URL that `parseWebhookUrl` would refuse. Only a row that was written by hand can have one. */
const NOT_SENDABLE: SendResult = {
  answer: { kind: 'no_answer', error: 'network_error' },
  durationMs: 0,
  responseBody: null,
};

function buildOptions(request: SendRequest, settings: HeaderSettings): ExchangeOptions | null {
  const { accountId = '', body } = request;
  const url = parsedUrl(request.url);
  if (url === null) return null;
  const { origin, pathname, search } = url;
  const headers = requestHeaders(request, settings);
  return { origin, path: pathname + search, method: 'POST', headers, body, accountId, connection: null };
}

type HeaderSettings = Pick<SenderOptions, 'signatureHeader' | 'reportUrl'>;

/**
 * Returns the names and values of a request's headers, in turn. One array that grows: spreads cost a delivery 10 µs.
 */
export function requestHeaders(request: SendRequest, { signatureHeader, reportUrl }: HeaderSettings): string[] {
  const { job, trace } = request;
  // Answers are never inflated, so the first 4 KiB of a compressed one would not be readable.
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'jobferry'];
  addSignatures(headers, request, signatureHeader);
  if (job !== undefined) {
    headers.push('x-jobferry-job', job.id, 'x-jobferry-queue', job.queue, 'x-jobferry-attempt', String(job.attempt));
    if (job.ackTimeout !== null) {
      headers.push('x-jobferry-ack-timeout', String(job.ackTimeout));
      if (reportUrl != null) headers.push(...reportHeaders(reportUrl, job, request));
    }
  }
  if (trace != null) headers.push(...traceHeaders(trace));
  return headers;
}

function addSignatures(headers: string[], request: SendRequest, name: string): void {
  const { body, secret, nextSecret, job, test } = request;
  const signed = test?.signs === undefined ? body : test.signs;
  if (signed === null) return;
  headers.push(name, sign(signed, secret));
  if (nextSecret != null) headers.push(`${name}-next`, sign(signed, nextSecret));
  if (request.standardWebhooks !== true || job === undefined) return;
  headers.push(...standardHeaders(job.id, signed, nextSecret == null ? [secret] : [secret, nextSecret]));
}

/**
 * During a rotation there is a second one, as with signatures: the receiver verifies it by the secret that it knows.
 */
function reportHeaders(
  base: string,
  { id: jobId, queueId, attempt }: DeliveredJob,
  { secret, nextSecret }: SendRequest,
): string[] {
  const url = unsignedReportUrl(base, { jobId, queueId, attempt, expiresAt: Date.now() + REPORT_URL_MS });
  const text = Buffer.from(signedReportText(url));
  const signedBy = (key: string) => `${url}.${sign(text, key).slice('sha256='.length)}`;
  const next = nextSecret == null ? [] : ['x-jobferry-report-url-next', signedBy(nextSecret)];
  return ['x-jobferry-report-url', signedBy(secret), ...next];
}

/**
 * The account for which a connection is being opened. It is set while the connector runs: the socket calls the look-up
 * before the connector returns, and can pass it only a name.
 */
interface Opening {
  accountId: string;
}

/** Wraps a connector so that it counts its open sockets. */
function countSockets(
  connector: buildConnector.connector,
  onOpen: () => void,
): { connect: buildConnector.connector; open: number } {
  const counted = {
    open: 0,
    connect: ((target, callback) => {
      connector(target, (...args) => {
        // The type of a missing socket is null, but after some TLS errors it is undefined.
        const [error, socket] = args;
        if (error === null && socket) {
          counted.open += 1;
          onOpen();
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

/** The name of a TLS server has no dot at its end (RFC 6066), and some servers refuse one. In `Host` it stays. */
function withServerName(target: buildConnector.Options): buildConnector.Options {
  const { hostname } = target;
  return hostname.endsWith('.') ? { ...target, servername: hostname.slice(0, -1) } : target;
}

/** One keep-alive connection of a pool. It gives each exchange its `ConnectionUse`. */
class Connection extends Client {
  readonly #use: ConnectionUse;

  constructor(origin: URL, options: Client.Options, opening: Opening) {
    const use: ConnectionUse = {
      requests: 0,
      accountId: '',
      socket: null,
      awaitsAnswer: false,
      interimBytes: 0,
      hasAnswerByte: false,
    };
    const open = options.connect as buildConnector.connector;
    const connect: buildConnector.connector = (target, callback) => {
      opening.accountId = use.accountId;
      open(withServerName(target), (...args) => {
        const [, socket] = args;
        if (socket) {
          use.socket = socket;
          passOverInterimAnswers(socket, use, MAX_HEADER_BYTES);
        }
        callback(...args);
      });
      opening.accountId = '';
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

/** Connections per origin are not limited here: the dispatcher limits the number of running deliveries. */
export function createAgent(options: Pick<Client.Options, 'connect' | 'pipelining'>, opening: Opening): Agent {
  return new Agent({
    ...options,
    factory: (origin, poolOptions) =>
      new Pool(origin, {
        ...poolOptions,
        factory: (url, clientOptions) => new Connection(url, clientOptions, opening),
      }),
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The exchange has its own deadline; undici's time-outs restart with every byte.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}
