import { Egress } from '../../src/delivery/egress.ts';
import type { Sender, SendRequest, SendResult } from '../../src/delivery/send.ts';
import type { EnvelopeFields } from '../../src/domain/envelope-text.ts';
import { DELIVERY_ERRORS, type DeliveryAnswer } from '../../src/domain/outcome.ts';
import type { Behaviour, Options } from './options.ts';
import type { Process } from './process.ts';
import type { Scheduler } from './scheduler.ts';

/** A request as the webhook sees it. */
export interface Arrival {
  jobId: string;
  queue: string;
  attempt: number;
  maxAttempts: number;
  at: number;
  process: Process;
  /** The socket is open, as far as the webhook can see. */
  open: boolean;
}

/** A `Retry-After` that a webhook may send, and its least wait in milliseconds from the answer on. */
const DATE = 'Fri, 01 Jan 2100 00:00:00 GMT';
const RETRY_AFTERS: readonly [header: string | null, ms: (now: number) => number][] = [
  ['0', () => 0],
  ['0.3', () => 300],
  ['1', () => 1000],
  ['2.5', () => 2500],
  ['30', () => 30_000],
  ['200000', () => 200_000_000],
  ['-1', () => 0],
  ['abc', () => 60_000],
  ['', () => 60_000],
  [null, () => 60_000],
  [DATE, (now) => Date.parse(DATE) - now],
];
const REFUSALS = DELIVERY_ERRORS.filter((error) => error !== 'timeout');

type Envelope = Pick<EnvelopeFields, 'id' | 'queue' | 'attempt' | 'maxAttempts'>;

export interface Answer {
  /** Null when the connection broke. */
  statusCode: number | null;
  retryAfterMs: number | null;
}

export interface ReceiverSetup {
  scheduler: Scheduler;
  options: Pick<Options, 'webhookTimeoutMs' | 'connectMs' | 'thinkMs'>;
  /** Database time. */
  clock(): number;
  /** Whether the sender checks, right before the first byte, that the job is still claimed by its process. */
  asks: boolean;
  /** A send has ended that was not abandoned. */
  onSent(jobId: string): void;
  onArrival(arrival: Arrival): void;
  /** Called for each answer, whether the process receives it or not. */
  onAnswer(arrival: Arrival, answer: Answer): void;
  reached(state: string): void;
}

/** The webhook, and the way to it. In place of `delivery/send`: same interface, same single deadline. */
export class Receiver {
  behaviour: Behaviour;
  /** Sends that have not ended, as far as a running process can know. */
  underWay = 0;
  readonly #setup: ReceiverSetup;

  constructor(setup: ReceiverSetup, behaviour: Behaviour) {
    this.#setup = setup;
    this.behaviour = behaviour;
  }

  senderOf(process: Process): Sender {
    return { send: (request) => this.#send(process, request), egress: new Egress(), close: () => Promise.resolve() };
  }

  #send(process: Process, request: SendRequest): Promise<SendResult> {
    const { scheduler, options } = this.#setup;
    const startedAt = scheduler.now;
    const envelope = JSON.parse(request.body.toString()) as Envelope;
    this.underWay += 1;
    return new Promise((resolve) => {
      let arrival: Arrival | null = null;
      const end = (answer: DeliveryAnswer) => {
        timeout.cancelled = true;
        connecting.cancelled = true;
        if (arrival !== null) arrival.open = false;
        this.underWay -= 1;
        this.#setup.onSent(envelope.id);
        resolve({ answer, durationMs: scheduler.now - startedAt, responseBody: null });
      };
      const timeout = scheduler.after(options.webhookTimeoutMs, process, 'the webhook has not answered in time', () =>
        end({ kind: 'no_answer', error: 'timeout' }),
      );
      const connecting = scheduler.after(scheduler.random.next() * options.connectMs, process, 'connected', () => {
        // The last check before the first byte is written.
        const remainingMs = startedAt + options.webhookTimeoutMs - scheduler.now;
        if (this.#setup.asks && (remainingMs <= 0 || request.stillMine?.(remainingMs) === false)) {
          timeout.cancelled = true;
          this.underWay -= 1;
          this.#setup.reached('a delivery is abandoned right before it starts');
          return resolve({ abandoned: true });
        }
        if (this.#draws('breaks') && scheduler.random.chance(0.5)) {
          return end({ kind: 'no_answer', error: scheduler.random.pick(REFUSALS) });
        }
        arrival = arrivalOf(process, envelope, scheduler.now);
        this.#setup.onArrival(arrival);
        this.#answer(arrival, startedAt, end);
      });
    });
  }

  #answer(arrival: Arrival, startedAt: number, end: (answer: DeliveryAnswer) => void): void {
    const { scheduler, options } = this.#setup;
    const { random } = scheduler;
    if (this.#draws('hangs')) return;
    const isLate = this.#draws('late');
    const think = isLate
      ? startedAt + options.webhookTimeoutMs * (0.95 + random.next() * 0.1) - scheduler.now
      : random.next() * options.thinkMs;
    const breaks = this.#draws('breaks');
    const pushesBack = !breaks && this.#draws('pushesBack');
    const fails = !breaks && !pushesBack && this.#draws('fails');
    // The webhook does its work and answers, whether a process still waits for it or not.
    scheduler.after(think, null, `webhook answers about ${arrival.jobId}`, () => {
      const [line, meant] = breaks ? [null, null] : this.#statusLine(pushesBack, fails, this.#setup.clock());
      this.#setup.onAnswer(arrival, { statusCode: line?.statusCode ?? null, retryAfterMs: meant });
      // Received by a process that still waits for it: a timer that came first has closed the socket.
      scheduler.after(0, arrival.process, 'receives the answer', () => {
        if (!arrival.open) this.#setup.reached('an answer comes after the time-out');
        else if (line === null) end({ kind: 'no_answer', error: random.pick(REFUSALS) });
        else end({ kind: 'answered', ...line });
      });
    });
  }

  #statusLine(
    pushesBack: boolean,
    fails: boolean,
    now: number,
  ): [line: { statusCode: number; retryAfter: string | null }, retryAfterMs: number | null] {
    const { random } = this.#setup.scheduler;
    if (pushesBack) {
      const [retryAfter, ms] = random.pick(RETRY_AFTERS);
      return [{ statusCode: random.pick([429, 503, 529]), retryAfter }, ms(now)];
    }
    return [{ statusCode: random.pick(fails ? [500, 404, 302, 199, 401] : [200, 202, 204]), retryAfter: null }, null];
  }

  #draws(kind: keyof Behaviour): boolean {
    const share = this.behaviour[kind];
    return share > 0 && this.#setup.scheduler.random.chance(share / (share + this.behaviour.accepts));
  }
}

function arrivalOf(process: Process, { id, queue, attempt, maxAttempts }: Envelope, at: number): Arrival {
  return { jobId: id, queue, attempt, maxAttempts, at, process, open: true };
}
