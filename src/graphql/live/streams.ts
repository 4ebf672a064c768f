import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { KeyWatch } from '../../services/accounts/key-watch.ts';

/** A stream rests four times as long as its last event took, so it keeps a connection busy at most a fifth of the time. */
const REST = 4;
const MAX_REST_MS = 60_000;

/** The connection to the client. */
export interface Connection {
  /** Whether the process still buffers sent data that the client has not read. */
  hasUnread(): boolean;
  /** Closes the connection at once and discards buffered data. */
  cut(): void;
}

/** The parts of a request's context that its subscription needs. */
export interface StreamContext {
  account: Account;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  connection: Connection;
}

/** The subscriptions of this process. */
export class Streams {
  readonly #keys: KeyWatch;
  readonly #open = new Set<AbortController>();
  /** Aborted when the stream of a connection ends. */
  readonly #endOf = new WeakMap<Connection, AbortSignal>();

  constructor(keys: KeyWatch) {
    this.#keys = keys;
  }

  /** Ends all subscriptions. */
  stop(): void {
    for (const ending of this.#open) ending.abort();
  }

  /**
   * Resolves when the key is known to be valid, or the stream has ended. Call it before the result of an event is sent:
   * producing the result may have taken seconds since the last check of the key.
   */
  async confirmed({ connection, signal }: Pick<StreamContext, 'connection' | 'signal'>): Promise<void> {
    await this.#keys.confirmed(this.#endOf.get(connection) ?? signal);
  }

  /**
   * Yields the events of one subscription until they end, the client disconnects, the key is revoked or the service
   * stops.
   * @param events receives a signal that is aborted in the last three cases
   */
  async *follow<Event>(
    context: StreamContext,
    events: (signal: AbortSignal) => AsyncIterable<Event>,
  ): AsyncGenerator<Event, void, undefined> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let isRevoked = false;
    let isSending = false;
    const { id: keyId } = context.account.actor;
    const leave =
      keyId === null
        ? () => undefined
        : this.#keys.follow(keyId, () => {
            isRevoked = true;
            end();
            // Cutting the connection discards what is buffered, so the revoked key does not receive it.
            if (isSending || context.connection.hasUnread()) context.connection.cut();
          });
    this.#open.add(ending);
    this.#endOf.set(context.connection, ending.signal);
    // A listener that is removed later: a signal joined to one that lives as long as the process would never be freed.
    context.signal.addEventListener('abort', end);
    if (context.signal.aborted) end();
    try {
      for await (const event of events(ending.signal)) {
        await this.#keys.confirmed(ending.signal);
        if (ending.signal.aborted) break;
        const startedAt = performance.now();
        isSending = true;
        yield event;
        // The consumer has requested the next event, so the result of this one has been produced and sent.
        isSending = false;
        await rest(REST * (performance.now() - startedAt), ending.signal);
      }
      if (isRevoked) throw new JobferryError('unauthorized', 'the API key has been revoked');
    } finally {
      context.signal.removeEventListener('abort', end);
      this.#open.delete(ending);
      leave();
    }
  }
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, MAX_REST_MS), undefined, { signal, ref: false }).catch(() => undefined);
}
