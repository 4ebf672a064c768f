import { setTimeout as sleep } from 'node:timers/promises';
import type { Account } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import type { SignedIn } from '../../domain/session.ts';
import type { CredentialWatch } from '../../services/accounts/credential-watch.ts';

/**
 * A stream rests four times as long as its last event took, so it keeps a connection busy at most a fifth of the time.
 */
const REST = 4;
const MAX_REST_MS = 60_000;

/** The message of a refusal because a key or session has ended since the request began. */
export const KEY_HAS_ENDED = 'the API key has been revoked, or the session has ended';

/** The connection to the client. */
export interface Connection {
  /** Whether the process still buffers sent data that the client has not read. */
  hasUnread(): boolean;
  /** Closes the connection at once and discards buffered data. */
  cut(): void;
}

/** The parts of a request's context that its subscription needs. */
interface StreamContext {
  account: Account;
  session: SignedIn['session'];
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
  connection: Connection;
}

/** The subscriptions of this process. */
export class Streams {
  readonly #credentials: CredentialWatch;
  readonly #open = new Set<AbortController>();
  /** Aborted when the stream of a connection ends. */
  readonly #endOf = new WeakMap<Connection, AbortSignal>();

  constructor(credentials: CredentialWatch) {
    this.#credentials = credentials;
  }

  /** Ends all subscriptions. */
  stop(): void {
    for (const ending of this.#open) ending.abort();
  }

  /**
   * Resolves when the API key or session is known to be valid, or the stream has ended. Call it before the result of an
   * event is sent: producing the result may have taken seconds since the last check.
   */
  async confirmed({ connection, signal }: Pick<StreamContext, 'connection' | 'signal'>): Promise<void> {
    await this.#credentials.confirmed(this.#endOf.get(connection) ?? signal);
  }

  /**
   * Yields the events of one subscription until they end, the client disconnects, its key is revoked, its session ends
   * or the service stops.
   * @param events receives a signal that is aborted in all cases but the first
   * @param rests whether the stream pauses after each event, so that it does not keep a connection of the database busy
   */
  async *follow<Event>(
    context: StreamContext,
    events: (signal: AbortSignal) => AsyncIterable<Event>,
    { rests = true }: { rests?: boolean } = {},
  ): AsyncGenerator<Event, void, undefined> {
    const ending = new AbortController();
    const end = () => ending.abort();
    let isRevoked = false;
    let isSending = false;
    const leave = this.#credentials.follow(credentialOf(context), () => {
      isRevoked = true;
      end();
      // Cutting the connection discards what is buffered, so the client does not receive it.
      if (isSending || context.connection.hasUnread()) context.connection.cut();
    });
    this.#open.add(ending);
    this.#endOf.set(context.connection, ending.signal);
    // A listener that is removed later: a signal joined to one that lives as long as the process would never be freed.
    context.signal.addEventListener('abort', end);
    if (context.signal.aborted) end();
    try {
      for await (const event of events(ending.signal)) {
        await this.#credentials.confirmed(ending.signal);
        if (ending.signal.aborted) break;
        const startedAt = performance.now();
        isSending = true;
        yield event;
        // The consumer has requested the next event, so the result of this one has been produced and sent.
        isSending = false;
        if (rests) await rest(REST * (performance.now() - startedAt), ending.signal);
      }
      if (isRevoked) throw new JobferryError('unauthorized', KEY_HAS_ENDED);
    } finally {
      context.signal.removeEventListener('abort', end);
      this.#open.delete(ending);
      leave();
    }
  }
}

/** Returns the id of the session or the API key with which the client was admitted. */
function credentialOf({ account, session }: Pick<StreamContext, 'account' | 'session'>): string {
  const id = session?.id ?? account.actor.id;
  if (id === null) throw new Error('a client without a session has no API key');
  return id;
}

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, MAX_REST_MS), undefined, { signal, ref: false }).catch(() => undefined);
}
