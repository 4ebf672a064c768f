import type { FullWatch } from './watch-list.ts';
import { isSameWatch } from './watch-list.ts';

/**
 * The one live stream of a tab. It is open while the tab is visible and signed in, and is opened again after every
 * failure, with back-off and jitter. Times are milliseconds by the server's clock.
 */

/** `closed`: the tab is hidden or not signed in. `waiting`: the next try to connect is at `nextTryAt`. */
export type Phase = 'closed' | 'connecting' | 'open' | 'waiting';

export interface LiveState {
  phase: Phase;
  nextTryAt: number | null;
  /** Since when what is shown may be old; null while the stream is open, and at the start. */
  staleSince: number | null;
}

/** Receives what happens on a stream, until the stream is closed. */
export interface StreamEvents {
  /** Any byte, including the comments that the server sends every 12 s. */
  onByte(): void;
  onObjects(objects: object[]): void;
  /** The stream has ended, or could not be opened. */
  onEnd(): void;
}

interface ConnectionOptions {
  /** Opens a stream; returns a function that closes it. */
  open(watch: FullWatch, events: StreamEvents): () => void;
  /** The objects of the messages of up to 250 ms, each message in order. */
  apply(objects: object[]): void;
  /** Changes may have been missed: all that is on screen must be read again. */
  refetch(): void;
  onState(state: LiveState): void;
  now(): number;
  random(): number;
}

const LIVE_TIMES = {
  /** At most four times a second. */
  applyMs: 250,
  /** A hidden tab keeps its stream so long, as people switch tabs and back. */
  hiddenMs: 5000,
  /** The server sends at least a comment every 12 s. */
  silenceMs: 25_000,
  /** A new screen mounts its parts one after the other. */
  watchMs: 50,
  firstRetryMs: 1000,
  maxRetryMs: 30_000,
} as const;

const NOTHING: FullWatch = { queueIds: [], jobIds: [], actionIds: [], allQueues: false };
type Timer = ReturnType<typeof setTimeout>;
type TimerName = 'hide' | 'silence' | 'retry' | 'watch' | 'apply';

export class LiveConnection {
  readonly #options: ConnectionOptions;
  #watch = NOTHING;
  #wanted = NOTHING;
  #isVisible = true;
  #isEnabled = false;
  #close: (() => void) | null = null;
  #state: LiveState = { phase: 'closed', nextTryAt: null, staleSince: null };
  #failures = 0;
  #hasMissed = false;
  #lastByteAt = 0;
  #pending: object[] = [];
  #appliedAt = Number.NEGATIVE_INFINITY;
  readonly #timers = new Map<TimerName, Timer>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /** Signed in, and on a screen that shows data. */
  setEnabled(isEnabled: boolean): void {
    this.#isEnabled = isEnabled;
    if (isEnabled && this.#isVisible) this.#connect();
    if (!isEnabled) this.#shut();
  }

  setVisible(isVisible: boolean): void {
    this.#isVisible = isVisible;
    this.#cancel('hide');
    if (!isVisible) {
      this.#after('hide', LIVE_TIMES.hiddenMs, () => {
        this.#hasMissed = true;
        this.#shut();
      });
    } else if (this.#isEnabled && this.#state.phase === 'closed') {
      if (this.#hasMissed) this.#refetch();
      this.#connect();
    }
  }

  setWatch(watch: FullWatch): void {
    this.#wanted = watch;
    this.#after('watch', LIVE_TIMES.watchMs, () => {
      if (isSameWatch(this.#wanted, this.#watch)) return;
      this.#watch = this.#wanted;
      // A new stream begins with the present state of what it watches, so nothing is missed in between.
      if (this.#state.phase === 'open' || this.#state.phase === 'connecting') this.#connect();
    });
  }

  /** Connects now instead of at `nextTryAt`. */
  tryNow(): void {
    if (this.#state.phase === 'waiting') this.#connect();
  }

  #connect(): void {
    this.#closeStream();
    this.#cancel('retry');
    this.#watch = this.#wanted;
    if (this.#state.phase !== 'open') this.#setState({ phase: 'connecting', nextTryAt: null });
    this.#listenForSilence();
    let isCurrent = true;
    const close = this.#options.open(this.#watch, {
      onByte: () => {
        if (isCurrent) this.#onByte();
      },
      onObjects: (objects) => {
        if (isCurrent) this.#receive(objects);
      },
      onEnd: () => {
        if (isCurrent) this.#fail();
      },
    });
    this.#close = () => {
      isCurrent = false;
      close();
    };
  }

  #onByte(): void {
    this.#lastByteAt = this.#options.now();
    this.#listenForSilence();
    if (this.#state.phase === 'open') return;
    this.#failures = 0;
    this.#setState({ phase: 'open', nextTryAt: null, staleSince: null });
    if (this.#hasMissed) this.#refetch();
  }

  /** A stream without a byte for 25 s is lost, whatever the browser believes of it. */
  #listenForSilence(): void {
    this.#after('silence', LIVE_TIMES.silenceMs, () => this.#fail());
  }

  #fail(): void {
    this.#closeStream();
    this.#hasMissed = true;
    const delay = Math.min(LIVE_TIMES.firstRetryMs * 2 ** this.#failures, LIVE_TIMES.maxRetryMs);
    this.#failures += 1;
    // Half to all of the delay, so that the tabs of all people do not come back to a restarted server at once.
    const jittered = delay * (0.5 + this.#options.random() / 2);
    const { staleSince } = this.#state;
    this.#setState({
      phase: 'waiting',
      nextTryAt: this.#options.now() + jittered,
      staleSince: staleSince ?? (this.#lastByteAt === 0 ? this.#options.now() : this.#lastByteAt),
    });
    this.#after('retry', jittered, () => this.#connect());
  }

  #receive(objects: object[]): void {
    this.#pending.push(...objects);
    if (this.#timers.has('apply')) return;
    const wait = this.#appliedAt + LIVE_TIMES.applyMs - this.#options.now();
    if (wait <= 0) this.#apply();
    else this.#after('apply', wait, () => this.#apply());
  }

  #apply(): void {
    const objects = this.#pending;
    this.#pending = [];
    this.#appliedAt = this.#options.now();
    if (objects.length > 0) this.#options.apply(objects);
  }

  #refetch(): void {
    this.#hasMissed = false;
    this.#options.refetch();
  }

  #shut(): void {
    this.#closeStream();
    this.#cancel('retry');
    this.#failures = 0;
    this.#setState({ phase: 'closed', nextTryAt: null, staleSince: null });
  }

  #closeStream(): void {
    this.#cancel('silence');
    this.#close?.();
    this.#close = null;
  }

  #setState(change: Partial<LiveState>): void {
    this.#state = { ...this.#state, ...change };
    this.#options.onState(this.#state);
  }

  #after(name: TimerName, ms: number, run: () => void): void {
    this.#cancel(name);
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      run();
    }, ms);
    this.#timers.set(name, timer);
  }

  #cancel(name: TimerName): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}
