import type { TunnelRow } from '../../db/tunnels.ts';
import type { Actor } from '../../domain/audit.ts';
import { DELIVERY_ERRORS, type DeliveryAnswer } from '../../domain/outcome.ts';
import { HELD_UP_MS } from '../../pacing/decide-after.ts';
import { decodeBody, RESPONSE_BODY_BYTES, type SendResult } from '../exchange.ts';
import { requestHeaders, type SendRequest } from '../send.ts';

/** A delivery on its way to the client of a tunnel. */
export interface TunnelDelivery {
  /** Number of the delivery in its tunnel. */
  id: string;
  jobId: string;
  attempt: number;
  /** Names and values of the request's headers, in turn. */
  headers: string[];
  /** The signed bytes, which are JSON, and so valid UTF-8. */
  body: string;
  /** Milliseconds that the receiver has. */
  timeoutMs: number;
}

/** The answer of the receiver, as the client of the tunnel sends it. */
export interface TunnelAnswer {
  /** Id of the delivery. */
  id: string;
  /** Null if there was no answer. */
  statusCode: number | null;
  /** Value of the header `retry-after`. */
  retryAfter: string | null;
  /** Value of the header `x-jobferry-outcome`. */
  outcome: string | null;
  /** Beginning of the body. */
  body: string | null;
  /** Why there was no answer; null if there was one. */
  error: string | null;
}

/** Time after the receiver's time limit in which the client's answer may still arrive. */
const GRACE_MS = 1000;
/** Characters of the bodies that are sent to the client together. */
const MAX_BATCH = 4 * 1024 * 1024;

interface Awaited {
  settle: (result: SendResult) => void;
  startedAt: number;
  timer: NodeJS.Timeout;
}

interface Waiting extends Awaited {
  id: string;
  request: SendRequest;
}

interface TunnelFacts extends TunnelRow {
  accountId: string;
}

export interface TunnelSettings {
  timeoutMs: number;
  signatureHeader: string;
  reportUrl?: string | null | undefined;
}

/**
 * A transport to one client that listens: deliveries wait until the client's stream takes them, and then for its
 * answers. Deliveries without an answer when the tunnel closes are abandoned; they use no attempt.
 */
export class Tunnel implements TunnelFacts {
  readonly id: string;
  readonly accountId: string;
  readonly queueId: string;
  readonly openedBy: Actor;
  readonly isForced: boolean;
  readonly #settings: TunnelSettings;
  readonly #awaited = new Map<string, Awaited>();
  #waiting: Waiting[] = [];
  #count = 0;
  #hasEnded = false;
  /** Resolves the stream's wait for the next delivery. */
  #onWork: (() => void) | null = null;
  /** Time of the client's last heartbeat, by `performance.now()`. */
  #heartbeatAt = performance.now();

  constructor({ id, accountId, queueId, openedBy, isForced }: TunnelFacts, settings: TunnelSettings) {
    this.id = id;
    this.accountId = accountId;
    this.queueId = queueId;
    this.openedBy = openedBy;
    this.isForced = isForced;
    this.#settings = settings;
  }

  get silentMs(): number {
    return performance.now() - this.#heartbeatAt;
  }

  get inFlight(): number {
    return this.#awaited.size;
  }

  /** The client is there: it has answered, or says so. */
  heartbeat(): void {
    this.#heartbeatAt = performance.now();
  }

  send(request: SendRequest): Promise<SendResult> {
    return new Promise((resolve) => {
      if (this.#hasEnded) {
        resolve({ abandoned: true });
        return;
      }
      this.#count += 1;
      const id = String(this.#count);
      const limitMs = this.#settings.timeoutMs + GRACE_MS;
      const startedAt = performance.now();
      const settle = (result: SendResult) => {
        if (!this.#awaited.delete(id)) return;
        clearTimeout(waiting.timer);
        resolve(result);
      };
      const timer = setTimeout(() => this.#expire(waiting, startedAt + limitMs), limitMs);
      const waiting: Waiting = { id, request, settle, startedAt, timer };
      this.#awaited.set(id, waiting);
      this.#waiting.push(waiting);
      this.#onWork?.();
    });
  }

  /**
   * Yields deliveries, as many as wait, until the tunnel ends.
   * @param confirmed resolves when the client may still get them; the claims are checked after it
   */
  async *deliveries(confirmed: () => Promise<void>): AsyncGenerator<TunnelDelivery[], void, undefined> {
    while (!this.#hasEnded) {
      if (this.#waiting.length > 0) await confirmed();
      const batch = this.#take();
      if (batch.length > 0) yield batch;
      else if (this.#waiting.length === 0 && !this.#hasEnded) {
        await new Promise<void>((resolve) => {
          this.#onWork = resolve;
        });
        this.#onWork = null;
      }
    }
  }

  /** An answer to a delivery that is not awaited any more changes nothing. */
  answered(answer: TunnelAnswer): void {
    const awaited = this.#awaited.get(answer.id);
    awaited?.settle({
      answer: deliveryAnswerOf(answer),
      durationMs: performance.now() - awaited.startedAt,
      responseBody: answer.statusCode === null ? null : beginningOf(answer.body ?? ''),
      isFromClient: true,
    });
  }

  end(): void {
    this.#hasEnded = true;
    this.#waiting = [];
    for (const { settle } of [...this.#awaited.values()]) settle({ abandoned: true });
    this.#onWork?.();
  }

  #take(): TunnelDelivery[] {
    const batch: TunnelDelivery[] = [];
    let room = MAX_BATCH;
    while (room > 0) {
      const waiting = this.#waiting.shift();
      if (waiting === undefined) break;
      // Its time has passed meanwhile.
      if (!this.#awaited.has(waiting.id)) continue;
      const { id, request, startedAt, settle } = waiting;
      const remainingMs = this.#settings.timeoutMs - (performance.now() - startedAt);
      // The last moment to check the claim: as for a webhook, the request is on its way from here on.
      if (remainingMs <= 0 || request.stillMine?.(remainingMs + GRACE_MS) === false) {
        settle({ abandoned: true });
        continue;
      }
      const body = request.body.toString();
      const { id: jobId = '', attempt = 0 } = request.job ?? {};
      const headers = requestHeaders(request, this.#settings);
      batch.push({ id, jobId, attempt, headers, body, timeoutMs: Math.floor(remainingMs) });
      room -= body.length;
    }
    return batch;
  }

  #expire(waiting: Waiting, dueAt: number): void {
    const { settle, startedAt } = waiting;
    const now = performance.now();
    // After a suspension or a blocked event loop, the answer may lie in a socket.
    const wasHeldUp = now - dueAt > HELD_UP_MS;
    const wasTaken = !this.#waiting.includes(waiting);
    // A client without a heartbeat since then has vanished, and the receiver is not to blame.
    if (wasHeldUp || !wasTaken || this.#heartbeatAt < startedAt) settle({ abandoned: true });
    else settle({ answer: { kind: 'no_answer', error: 'timeout' }, durationMs: now - startedAt, responseBody: null });
  }
}

/**
 * Errors that a client can report. They include limits of its process and machine, for which the job is not to blame
 * (D38).
 */
const CLIENT_ERRORS = [...DELIVERY_ERRORS, 'no_descriptors', 'no_local_port'] as const;
type ClientError = (typeof CLIENT_ERRORS)[number];

function deliveryAnswerOf({ statusCode, retryAfter, outcome, error }: TunnelAnswer): DeliveryAnswer {
  if (statusCode === null) {
    const isKnown = (CLIENT_ERRORS as readonly (string | null)[]).includes(error);
    return { kind: 'no_answer', error: isKnown ? (error as ClientError) : 'network_error' };
  }
  const isPermanent = outcome?.trim().toLowerCase() === 'permanent';
  return { kind: 'answered', statusCode, retryAfter, ...(isPermanent ? { isPermanent } : {}) };
}

function beginningOf(body: string): string {
  const bytes = Buffer.from(body);
  return decodeBody([bytes.subarray(0, RESPONSE_BODY_BYTES)], bytes.length > RESPONSE_BODY_BYTES);
}
