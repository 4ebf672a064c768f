import { randomUUID } from 'node:crypto';
import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { type Listener, notify } from '../db/connection/notifications.ts';
import { JobferryError, unavailable } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import type { Change, ChangeFeed, Changes, Live, Watch } from './live.ts';
import {
  type ChangeSet,
  decodeChanges,
  decodeInterest,
  encodeChanges,
  encodeHello,
  encodeInterest,
} from './messages.ts';
import { PendingChanges, RemoteInterests } from './pending-changes.ts';
import { Subscriber } from './subscriber.ts';

const WATCH_CHANNEL = 'jobferry_watch';
const CHANGE_CHANNEL = 'jobferry_change';

/** Places, in this process. */
const MAX_SUBSCRIBERS = 500;
const MAX_SUBSCRIBERS_OF_ACCOUNT = 100;
const MAX_IDS = 100;
const MIN_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 60_000;

/** Milliseconds. Tests shorten them. */
const TIMINGS = {
  /** Changes are told together, no more often than this. */
  round: 100,
  /** A round that could not be sent. */
  retry: 1000,
  /** How often a process says what its subscribers watch, and how long that holds: two may be lost. */
  announce: 5000,
  interestLife: 12_000,
  /** By then every process has heard of a new subscriber, and tells what changes. */
  catchUp: 1000,
  quiet: 10_000,
};

export interface LiveOptions {
  db: Database;
  /** Of the process; not yet started. */
  listener: Listener;
  log: DatabaseLog;
  timings?: Partial<typeof TIMINGS>;
}

export interface LiveService {
  live: Live;
  changes: ChangeFeed;
  /** Ends all subscriptions, and takes no more. */
  endSubscriptions(): void;
  /** Sends other processes the changes that are left. */
  stop(): Promise<void>;
}

export function createLive(options: LiveOptions): LiveService {
  const hub = new LiveHub(options);
  return {
    live: hub,
    changes: hub,
    endSubscriptions: () => hub.endSubscriptions(),
    stop: () => hub.stop(),
  };
}

/**
 * Brings changes of any process to the subscribers of this one (docs/architecture.md, "Live updates").
 * Subscribers of the same process hear of a change without the database, all others by NOTIFY.
 */
class LiveHub implements Live, ChangeFeed {
  readonly #options: LiveOptions;
  readonly #timings: typeof TIMINGS;
  readonly #id = randomUUID();
  readonly #subscribers = new Set<Subscriber>();
  #admitted = 0;
  readonly #admittedOf = new Map<string, number>();
  /** By what they are interested in. */
  readonly #byId = new Map<string, Set<Subscriber>>();
  readonly #remote: RemoteInterests;
  readonly #pending = new PendingChanges();
  readonly #toAnnounce = new Set<string>();
  /** Somebody watches something, somewhere: all that `changed` asks when nobody does. */
  #isWatched = false;
  #round: NodeJS.Timeout | null = null;
  #telling: Promise<void> = Promise.resolve();
  #announcing: Promise<void> | null = null;
  #ticking: NodeJS.Timeout | null = null;
  #ending = false;
  #stopped = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#timings = { ...TIMINGS, ...options.timings };
    this.#remote = new RemoteInterests(this.#timings.interestLife);
    options.listener.subscribe({
      channels: {
        [WATCH_CHANNEL]: (message) => this.#hearInterest(message),
        [CHANGE_CHANNEL]: (message) => {
          if (this.#subscribers.size > 0) this.#hearChanges(message);
        },
      },
      greeting: { channel: WATCH_CHANNEL, message: encodeHello(this.#id) },
      onListening: () => {
        this.#announce(this.#byId.keys());
        this.#missed();
      },
    });
  }

  changed({ accountId, queueId, jobId, actionId }: Change): void {
    if (!this.#isWatched) return;
    if (queueId !== undefined && (this.#watches(queueId) || this.#watches(accountId))) {
      this.#pending.queue(accountId, queueId, jobId);
    }
    if (jobId !== undefined && this.#watches(jobId)) this.#pending.job(accountId, jobId);
    if (actionId !== undefined && this.#watches(actionId)) this.#pending.action(accountId, actionId);
    if (this.#round === null && !this.#pending.isEmpty) this.#tellIn(this.#timings.round);
  }

  watch(watch: Watch, minIntervalMs: number, signal?: AbortSignal): AsyncGenerator<Changes, void, undefined> {
    this.#assertFew(watch);
    const leave = this.admit(watch.accountId);
    const intervalMs = Math.min(Math.max(minIntervalMs, MIN_INTERVAL_MS), MAX_INTERVAL_MS);
    const ids = (list: readonly string[]) => list.filter(isId);
    const own = { ...watch, queueIds: ids(watch.queueIds), jobIds: ids(watch.jobIds), actionIds: ids(watch.actionIds) };
    const close = () => subscriber.close();
    const catchUp = setTimeout(() => subscriber.missed(), this.#timings.catchUp);
    const subscriber = new Subscriber(own, intervalMs, () => {
      leave();
      clearTimeout(catchUp);
      signal?.removeEventListener('abort', close);
      this.#remove(subscriber);
    });
    this.#add(subscriber);
    signal?.addEventListener('abort', close);
    if (signal?.aborted === true) close();

    // A generator's own `return` waits for the `next` under way, and runs no `finally` before the first one.
    const rounds = subscriber.rounds();
    const { return: end, throw: fail } = rounds;
    rounds.return = (value) => {
      close();
      return end.call(rounds, value);
    };
    rounds.throw = (error) => {
      close();
      return fail.call(rounds, error);
    };
    return rounds;
  }

  endSubscriptions(): void {
    this.#ending = true;
    for (const subscriber of this.#subscribers) subscriber.close();
  }

  async stop(): Promise<void> {
    this.endSubscriptions();
    this.#stopped = true;
    this.#isWatched = false;
    if (this.#ticking !== null) clearInterval(this.#ticking);
    if (this.#round !== null) clearTimeout(this.#round);
    await this.#telling;
    if (!this.#pending.isEmpty) await this.#tell();
    await this.#announcing;
  }

  #assertFew({ queueIds, jobIds, actionIds }: Watch): void {
    if ([queueIds, jobIds, actionIds].some((ids) => ids.length > MAX_IDS)) {
      throw new JobferryError('invalid_request', `watch at most ${MAX_IDS} of each`);
    }
  }

  admit(accountId: string): () => void {
    if (this.#ending) throw unavailable('the service stops', 'nothing');
    if (this.#admitted >= MAX_SUBSCRIBERS) throw unavailable('too many live subscribers', 'nothing');
    const ofAccount = this.#admittedOf.get(accountId) ?? 0;
    if (ofAccount >= MAX_SUBSCRIBERS_OF_ACCOUNT) {
      throw unavailable('the account has too many live subscribers', 'nothing');
    }
    this.#admitted += 1;
    this.#admittedOf.set(accountId, ofAccount + 1);
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#admitted -= 1;
      const left = (this.#admittedOf.get(accountId) ?? 1) - 1;
      if (left === 0) this.#admittedOf.delete(accountId);
      else this.#admittedOf.set(accountId, left);
    };
  }

  #add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
    for (const id of subscriber.interests) {
      const watching = this.#byId.get(id);
      if (watching === undefined) this.#byId.set(id, new Set([subscriber]));
      else watching.add(subscriber);
    }
    this.#interestsChanged();
    this.#announce(subscriber.interests);
  }

  #remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    for (const id of subscriber.interests) {
      const watching = this.#byId.get(id);
      watching?.delete(subscriber);
      if (watching?.size === 0) this.#byId.delete(id);
    }
    this.#interestsChanged();
  }

  #watches(id: string): boolean {
    return this.#byId.has(id) || this.#remote.has(id);
  }

  /** Nothing runs while nobody watches. */
  #interestsChanged(): void {
    this.#isWatched = !this.#stopped && (this.#subscribers.size > 0 || this.#remote.size > 0);
    if (this.#isWatched) {
      this.#ticking ??= setInterval(() => this.#tick(), this.#timings.announce);
    } else if (this.#ticking !== null) {
      clearInterval(this.#ticking);
      this.#ticking = null;
    }
  }

  #tick(): void {
    this.#remote.removeExpired();
    this.#announce(this.#byId.keys());
    for (const subscriber of this.#subscribers) subscriber.refreshIfQuiet(this.#timings.quiet);
    this.#interestsChanged();
  }

  #announce(ids: Iterable<string>): void {
    for (const id of ids) this.#toAnnounce.add(id);
    if (this.#stopped || this.#toAnnounce.size === 0) return;
    this.#announcing ??= this.#sayInterests().finally(() => {
      this.#announcing = null;
    });
  }

  async #sayInterests(): Promise<void> {
    try {
      while (this.#toAnnounce.size > 0) {
        const messages = encodeInterest(this.#id, [...this.#toAnnounce]);
        this.#toAnnounce.clear();
        await notify(this.#options.db, WATCH_CHANNEL, messages);
      }
    } catch (error) {
      // Said again at the next tick, and as soon as the listener is back.
      this.#options.log.warn({ err: error }, 'live updates: what is watched could not be told');
    }
  }

  #hearInterest(message: string): void {
    const heard = decodeInterest(message);
    if (heard === null || heard.from === this.#id || this.#stopped) return;
    this.#remote.note(heard.interest.ids);
    this.#interestsChanged();
    if (!heard.interest.hello) return;
    // It did not know what is watched here, and so told nothing.
    this.#announce(this.#byId.keys());
    this.#missed();
  }

  #hearChanges(message: string): void {
    const heard = decodeChanges(message);
    if (heard !== null && heard.from !== this.#id) this.#distribute(heard.changes);
  }

  #missed(): void {
    for (const subscriber of this.#subscribers) subscriber.missed();
  }

  #tellIn(ms: number): void {
    this.#round = setTimeout(() => {
      this.#telling = this.#tell().then((told) => {
        this.#round = null;
        if (!this.#pending.isEmpty && !this.#stopped) this.#tellIn(told ? this.#timings.round : this.#timings.retry);
      });
    }, ms);
  }

  /** One round; false when other processes could not be told. */
  async #tell(): Promise<boolean> {
    const changes = this.#pending.take();
    this.#distribute(changes);
    try {
      await notify(this.#options.db, CHANGE_CHANNEL, encodeChanges(this.#id, this.#remote.select(changes)));
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'live updates: changes could not be told');
      this.#pending.lose();
      return false;
    }
  }

  #distribute(changes: ChangeSet): void {
    if (changes.missed) this.#missed();
    for (const queue of changes.queues) {
      for (const subscriber of this.#byId.get(queue.queueId) ?? []) subscriber.queueChanged(queue);
      for (const subscriber of this.#byId.get(queue.accountId) ?? []) subscriber.queueChanged(queue);
    }
    for (const job of changes.jobs) for (const subscriber of this.#byId.get(job.id) ?? []) subscriber.jobChanged(job);
    for (const action of changes.actions) {
      for (const subscriber of this.#byId.get(action.id) ?? []) subscriber.actionChanged(action);
    }
  }
}
