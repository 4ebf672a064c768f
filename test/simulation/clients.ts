import type { Account } from '../../src/domain/account.ts';
import { JobferryError } from '../../src/domain/errors.ts';
import { ACCOUNT, type Process } from './process.ts';
import type { Arrival } from './receiver.ts';
import type { Simulation } from './simulation.ts';

/**
 * After this a client gives up waiting, and does not know the result of its call. A publish must have
 * been answered by then (I-37); the rest is for timers, which are late here.
 */
const PATIENCE_MS = 5050;
const MAX_TRIES = 6;
/** Nearly all reports come from programs. What people do is audited. */
const PROGRAM: Account = { ...ACCOUNT, actor: { type: 'api_key', id: 'key', label: 'simulated' } };

interface Report {
  by: Account;
  input: { attempt?: number };
}

/** Clients that publish, report and intervene, each through any process that answers. */
export class Clients {
  /** Ids that were answered to publishes: these jobs must not be lost. */
  readonly acknowledged = new Set<string>();
  /** Publishes that are neither answered nor given up. */
  open = 0;
  readonly #simulation: Simulation;
  readonly #reached: (state: string) => void;

  constructor(simulation: Simulation, reached: (state: string) => void) {
    this.#simulation = simulation;
    this.#reached = reached;
  }

  publish(n: number): void {
    const { random, options } = this.#simulation;
    const idempotencyKey = random.chance(0.6) ? random.pick(['a', 'b', `key-${n}`, `key-${n}`]) : undefined;
    const delay = random.chance(0.2) ? random.next() * 4 : 0;
    const input = { payload: '{}', idempotencyKey, delay };
    const queueName = `queue-${random.int(0, options.queues.length - 1)}`;
    this.open += 1;
    const twice = idempotencyKey !== undefined && random.chance(0.2);
    if (twice) {
      this.open += 1;
      this.#try(queueName, input, 1);
    }
    this.#try(queueName, input, 1);
  }

  #try(
    queueName: string,
    input: { payload: string; idempotencyKey: string | undefined; delay: number },
    n: number,
  ): void {
    const retry = () => {
      if (input.idempotencyKey === undefined || n >= MAX_TRIES) this.open -= 1;
      else this.#later(300 + 1000 * n, 'a client publishes again', () => this.#try(queueName, input, n + 1));
    };
    this.#call(
      'publish',
      async (process) => {
        const { created, job } = await process.jobs.publish(ACCOUNT, queueName, input);
        this.acknowledged.add(job.id);
        this.#simulation.checker.onAcknowledged(job.id);
        if (!created && n > 1) this.#reached('a publish that seemed lost was not');
      },
      (outcome) => {
        if (outcome === 'unavailable' || outcome === 'silence') retry();
        else this.open -= 1;
      },
    );
  }

  /** The webhook has answered 2xx; in ack mode a client reports, perhaps before that answer is settled. */
  accepted({ jobId, attempt }: Arrival): void {
    const { tables, random, options, isHealed } = this.#simulation;
    const job = tables.jobs.get(jobId);
    const queue = job && tables.queues.get(job.queueId);
    if (job?.mode !== 'ack' || queue === undefined) return;
    const { silent, doubled, extensions } = options.reports;
    // Every other client names the attempt that it reports on.
    const report: Report = { by: PROGRAM, input: jobId.charCodeAt(jobId.length - 1) % 2 === 0 ? { attempt } : {} };
    if (isHealed) {
      this.#later(random.next() * 50, 'a report', () => this.#report(jobId, 'ack', MAX_TRIES, report));
      return;
    }
    if (random.chance(silent)) return;
    const within = queue.ackTimeout * 1000 * 1.2;
    for (let n = random.chance(doubled) ? random.int(2, 3) : 1; n > 0; n -= 1) {
      const kind = this.#kindOfReport();
      const by = n === 2 ? { ...report, by: ACCOUNT } : report;
      // Near the time-out they race it.
      const inMs = random.chance(0.3) ? within * (0.8 + 0.2 * random.next()) : random.skewed(within);
      this.#later(inMs, 'a report', () => this.#report(jobId, kind, random.int(1, 2), by));
    }
    if (random.chance(extensions)) {
      // At the last moment, mostly.
      const inMs = queue.ackTimeout * 1000 * (random.chance(0.3) ? random.next() : 0.9 + 0.15 * random.next());
      this.#later(inMs, 'an extension', () => {
        const seconds = 0.1 + random.next() * queue.ackTimeout;
        this.#call(
          'extend',
          (process) => process.jobs.extendAck(ACCOUNT, jobId, seconds, null),
          (outcome) => {
            if (outcome === 'done') this.#reached('an ack deadline is extended');
          },
        );
      });
    }
  }

  cancel(): void {
    const { tables, checker } = this.#simulation;
    const jobId = this.#anyJob();
    if (jobId === undefined) return;
    this.#call('cancel', (process) => {
      const job = tables.jobs.get(jobId);
      if (job?.status === 'awaiting_ack' && checker.queue(job.queueId).probe === jobId) {
        this.#reached('a client cancels the probe');
      }
      return process.jobs.cancel(ACCOUNT, jobId);
    });
  }

  runNow(): void {
    const jobId = this.#anyJob();
    if (jobId !== undefined) this.#call('run now', (process) => process.jobs.runNow(ACCOUNT, jobId));
  }

  #anyJob(): string | undefined {
    const { tables, random } = this.#simulation;
    const ids = [...tables.jobs.keys()];
    return ids.length === 0 ? undefined : random.pick(ids);
  }

  #kindOfReport(): 'ack' | 'nack' | 'defer' {
    const { random, options } = this.#simulation;
    if (random.chance(options.reports.defers)) return 'defer';
    return random.chance(options.reports.nacks) ? 'nack' : 'ack';
  }

  #report(jobId: string, kind: 'ack' | 'nack' | 'defer', tries: number, report: Report): void {
    const { by, input } = report;
    const { random } = this.#simulation;
    const send = (process: Process) => {
      if (kind === 'ack') return process.jobs.ack(by, jobId, input);
      if (kind === 'nack')
        return process.jobs.nack(by, jobId, { retryable: random.chance(0.8), reason: null, ...input });
      const retryAfter = random.pick([0, 0.1, 0.5, 0.5, 2, 20, 90_000, 200_000]);
      const scope = random.pick(['queue', 'queue', 'queue', 'job'] as const);
      return process.jobs.defer(by, jobId, { retryAfter, scope, reason: null, ...input });
    };
    this.#call(kind, send, (outcome) => {
      if (outcome === 'done') this.#reached(`a report wins: ${kind}`);
      if (outcome === 'invalid_request') this.#reached('a report loses a race');
      if (outcome !== 'unavailable' && outcome !== 'silence') return;
      if (tries > 1) this.#later(200, 'a report again', () => this.#report(jobId, kind, tries - 1, report));
    });
  }

  #later(ms: number, label: string, run: () => void): void {
    this.#simulation.scheduler.after(ms, null, label, run);
  }

  /** A call to some process. Returns `done`, the kind of the refusal, or `silence` when no answer comes. */
  #call(
    label: string,
    run: (process: Process) => Promise<unknown>,
    onEnd: (outcome: string) => void = () => undefined,
  ): void {
    const { scheduler } = this.#simulation;
    const process = this.#simulation.anyProcess();
    const runs = process !== null && !process.frozen;
    const freezes = process?.freezes;
    let ended = false;
    const end = (outcome: string) => {
      if (ended) return;
      ended = true;
      patience.cancelled = true;
      scheduler.trace?.(`  client: ${label}: ${outcome}`);
      onEnd(outcome);
    };
    const patience = scheduler.after(PATIENCE_MS, null, `${label} gives up`, () => {
      this.#reached('a client gets no answer');
      const isHealthy = runs && !process.dead && process.freezes === freezes;
      if (label === 'publish' && isHealthy) this.#simulation.checker.onPublishUnanswered(process);
      end('silence');
    });
    if (process === null) {
      end('unavailable');
      return;
    }
    scheduler.after(0, process, label, () => {
      run(process).then(
        () => end('done'),
        (error: unknown) => {
          if (!(error instanceof JobferryError)) scheduler.fail(error);
          else end(error.kind);
        },
      );
    });
  }
}
