import { setTimeout as sleep } from 'node:timers/promises';
import { JobferryError } from '../../domain/errors.ts';
import type { KeyWatch } from '../../services/accounts/key-watch.ts';
import type { Connection, GraphQLContext } from '../context.ts';

/** A stream rests for so many times as long as its last event took, so it keeps a database connection busy a fifth of the time. */
const REST = 4;
const MAX_REST_MS = 60_000;

/** The subscriptions of this process. */
export class Streams {
  readonly #keys: KeyWatch;
  readonly #open = new Set<AbortController>();
  /** Tells of the end of the stream that a connection has. */
  readonly #endOf = new WeakMap<Connection, AbortSignal>();

  constructor(keys: KeyWatch) {
    this.#keys = keys;
  }

  /** Ends them all. */
  stop(): void {
    for (const ending of this.#open) ending.abort();
  }

  /**
   * For what was made of an event, before it is sent: making it may have taken seconds, and the key was looked at
   * before.
   */
  async confirmed({ connection, signal }: Pick<GraphQLContext, 'connection' | 'signal'>): Promise<void> {
    await this.#keys.confirmed(this.#endOf.get(connection) ?? signal);
  }

  /**
   * Events of one subscription, until they end, its client has gone, its key is revoked or the service stops.
   * @param events given what tells of these ends
   */
  async *follow<Event>(
    context: Pick<GraphQLContext, 'account' | 'signal' | 'connection'>,
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
            // What is on its way does not reach the key any more.
            if (isSending || context.connection.hasUnread()) context.connection.cut();
          });
    this.#open.add(ending);
    this.#endOf.set(context.connection, ending.signal);
    // One listener, taken off again: a signal joined to one that lives as long as the process would never be freed.
    context.signal.addEventListener('abort', end);
    if (context.signal.aborted) end();
    try {
      for await (const event of events(ending.signal)) {
        await this.#keys.confirmed(ending.signal);
        if (ending.signal.aborted) break;
        const startedAt = performance.now();
        isSending = true;
        yield event;
        // Asked for the next one, so this one has been made, and sent.
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
