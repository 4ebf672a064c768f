import { randomUUID } from 'node:crypto';
import type { Database, DatabaseLog } from '../db/connection/database.ts';
import { type Listener, notify } from '../db/connection/notifications.ts';
import { JobferryError } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { AccountWatch } from './account-watch.ts';
import { Admission } from './admission.ts';
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

/** Bounds on a subscriber. */
const MAX_IDS = 100;
const MIN_INTERVAL_MS = 100;
const MAX_INTERVAL_MS = 60_000;

/** Milliseconds. Tests shorten them. */
const TIMINGS = {
  /** Changes are collected for this long, and then sent together. */
  round: 100,
  /** Time before the next round after one that could not be sent. */
  retry: 1000,
  /**
   * How often a process announces the ids that its subscribers watch, and when an announcement expires:
   * two may be lost.
   */
  announce: 5000,
  interestLife: 12_000,
  /** A new subscriber re-reads everything after this: by then every process knows of it and sends it changes. */
  catchUp: 1000,
  /** A subscriber re-reads everything this often: a killed process does not send its last changes. */
  reread: 10_000,
  /** How often the lists of an account are read that no process announces changes of. */
  accounts: 2000,
};

export interface LiveOptions {
  db: Database;
  /** The process's listener, not yet started. */
  listener: Listener;
  log: DatabaseLog;
  timings?: Partial<typeof TIMINGS>;
}

export interface LiveService {
  live: Live;
  changes: ChangeFeed;
  /** Ends all subscriptions, and refuses new ones. */
  endSubscriptions(): void;
  /** Sends the remaining changes to other processes. */
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
 * Passes changes from all processes to the subscribers of this one (docs/architecture, "Live updates").
 * Subscribers of the same process receive a change without the database, all others by NOTIFY.
 */
class LiveHub implements Live, ChangeFeed {
  readonly #options: LiveOptions;
  readonly #timings: typeof TIMINGS;
  readonly #id = randomUUID();
  readonly #subscribers = new Set<Subscriber>();
  readonly #admission = new Admission();
  readonly #accounts: AccountWatch;
  /** Subscribers by each id that they watch. */
  readonly #byId = new Map<string, Set<Subscriber>>();
  readonly #remote: RemoteInterests;
  readonly #pending = new PendingChanges();
  readonly #toAnnounce = new Set<string>();
  /** Whether any process has a subscriber. Without one, `changed` checks this and nothing else. */
  #isWatched = false;
  #round: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #announcing: Promise<void> | null = null;
  #ticking: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#timings = { ...TIMINGS, ...options.timings };
    this.#remote = new RemoteInterests(this.#timings.interestLife);
    this.#accounts = new AccountWatch({
      db: options.db,
      log: options.log,
      everyMs: this.#timings.accounts,
      onChange: (accountId, change) => {
        for (const subscriber of this.#subscribers) {
          if (subscriber.accountId === accountId) subscriber.accountChanged(change);
        }
      },
    });
    options.listener.subscribe({
      channels: {
        [WATCH_CHANNEL]: (message) => this.#receiveInterest(message),
        [CHANGE_CHANNEL]: (message) => {
          if (this.#subscribers.size > 0) this.#receiveChanges(message);
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
    if (this.#round === null && !this.#pending.isEmpty) this.#sendIn(this.#timings.round);
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

    // A generator's own `return` waits for a pending `next`, and before the first `next` it runs no `finally`.
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
    this.#admission.end();
    for (const subscriber of this.#subscribers) subscriber.close();
  }

  async stop(): Promise<void> {
    this.endSubscriptions();
    this.#stopped = true;
    this.#isWatched = false;
    if (this.#ticking !== null) clearInterval(this.#ticking);
    if (this.#round !== null) clearTimeout(this.#round);
    await this.#sending;
    if (!this.#pending.isEmpty) await this.#send();
    await this.#announcing;
    await this.#accounts.stop();
  }

  #assertFew({ queueIds, jobIds, actionIds }: Watch): void {
    if ([queueIds, jobIds, actionIds].some((ids) => ids.length > MAX_IDS)) {
      throw new JobferryError(
        'invalid_request',
        `a subscriber may watch at most ${MAX_IDS} queues, ${MAX_IDS} jobs and ${MAX_IDS} bulk actions`,
      );
    }
  }

  admit(accountId: string): () => void {
    return this.#admission.admit(accountId);
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
    this.#accounts.add(subscriber.accountId, subscriber.lists);
  }

  #remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
    this.#accounts.remove(subscriber.accountId, subscriber.lists);
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

  /** Starts the ticks with the first interest, and stops them with the last. */
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
    for (const subscriber of this.#subscribers) subscriber.rereadIfDue(this.#timings.reread);
    this.#interestsChanged();
  }

  #announce(ids: Iterable<string>): void {
    for (const id of ids) this.#toAnnounce.add(id);
    if (this.#stopped || this.#toAnnounce.size === 0) return;
    this.#announcing ??= this.#sendInterests().finally(() => {
      this.#announcing = null;
    });
  }

  async #sendInterests(): Promise<void> {
    try {
      while (this.#toAnnounce.size > 0) {
        const messages = encodeInterest(this.#id, [...this.#toAnnounce]);
        this.#toAnnounce.clear();
        await notify(this.#options.db, WATCH_CHANNEL, messages);
      }
    } catch (error) {
      // The next tick announces all ids again, and so does the listener when it reconnects.
      this.#options.log.warn({ err: error }, 'live updates: announcing the watched ids to other processes failed');
    }
  }

  #receiveInterest(message: string): void {
    const received = decodeInterest(message);
    if (received === null || received.from === this.#id || this.#stopped) return;
    this.#remote.add(received.interest.ids);
    this.#interestsChanged();
    if (!received.interest.hello) return;
    // The sender did not know what this process watches, so it has sent no changes yet.
    this.#announce(this.#byId.keys());
    this.#missed();
  }

  #receiveChanges(message: string): void {
    const received = decodeChanges(message);
    if (received !== null && received.from !== this.#id) this.#distribute(received.changes);
  }

  #missed(): void {
    for (const subscriber of this.#subscribers) subscriber.missed();
  }

  #sendIn(ms: number): void {
    this.#round = setTimeout(() => {
      this.#sending = this.#send().then((sent) => {
        this.#round = null;
        if (!this.#pending.isEmpty && !this.#stopped) this.#sendIn(sent ? this.#timings.round : this.#timings.retry);
      });
    }, ms);
  }

  /** Runs one round. Resolves with false if NOTIFY failed, so that other processes did not get the changes. */
  async #send(): Promise<boolean> {
    const changes = this.#pending.take();
    this.#distribute(changes);
    try {
      await notify(this.#options.db, CHANGE_CHANNEL, encodeChanges(this.#id, this.#remote.select(changes)));
      return true;
    } catch (error) {
      this.#options.log.warn({ err: error }, 'live updates: sending changes to other processes failed');
      this.#pending.markMissed();
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
