import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { DemoApi, DemoJob, DemoPage } from './api.ts';
import { showPhase } from './progress.ts';
import type { Behaviour, DemoReceiver } from './receiver.ts';

interface DemoQueue {
  id: string;
  name: string;
}

/** The figures of the closing table. */
export interface Figures {
  published: number;
  delivered: number;
  retried: number;
  held: number;
  dead: number;
  replayed: number;
  jobsPerSecond: number;
  idleMs: number[];
  verbatim: boolean;
  badSignatures: number;
}

const PAYLOADS = new URL('payloads/', import.meta.url);

const IDLE_JOBS = 100;
/** How often each payload is published in the burst. */
const BURST_ROUNDS = 40;
const PUBLISHERS = 20;
/** Bound on every wait: a demo that hangs ends with an error. */
const PATIENCE_MS = 60_000;

/** The number of jobs for each misbehaving webhook, and the queue settings that make it misbehave quickly. */
const MISBEHAVIOUR: readonly [Behaviour, jobs: number, settings: object][] = [
  ['flaky', 20, { backoffType: 'fixed', backoffDelay: 0.2 }],
  ['busy', 10, { concurrency: 10 }],
  ['slow', 5, {}],
  ['broken', 10, { backoffType: 'fixed', backoffDelay: 0.2, maxAttempts: 2 }],
  ['ack', 10, { mode: 'ack', backoffType: 'fixed', backoffDelay: 0.2 }],
];

/** The course of the demo, phase by phase, over the public API. */
export class Scenario {
  readonly #api: DemoApi;
  readonly #receiver: DemoReceiver;
  readonly #signal: AbortSignal;
  readonly #payloads = examplePayloads();
  readonly #queues: DemoQueue[] = [];
  /** Source text of the payload by job id, to compare with what arrived. */
  readonly #published = new Map<string, string>();

  /** @param signal aborts the scenario, which then throws the signal's reason */
  constructor(api: DemoApi, receiver: DemoReceiver, signal: AbortSignal) {
    this.#api = api;
    this.#receiver = receiver;
    this.#signal = signal;
  }

  async run(): Promise<Figures> {
    const idleMs = await this.#idle();
    const jobsPerSecond = await this.#burst();
    const broken = await this.#misbehave();
    const replayed = await this.#replay(broken);
    return { ...(await this.#count()), idleMs, jobsPerSecond, replayed, ...this.#compare() };
  }

  /** Publishes one job after the other on an idle service, and measures the time until each arrives. */
  async #idle(): Promise<number[]> {
    const queue = await this.#createQueue('idle', 'fine', {});
    const waits: number[] = [];
    const state = () => `${waits.length}/${IDLE_JOBS}`;
    await showPhase('one by one', state, async () => {
      for (let i = 0; i < IDLE_JOBS; i += 1) {
        const start = performance.now();
        const id = await this.#publish(queue, i);
        await this.#until(() => this.#receiver.arrivals.has(id));
        waits.push((this.#receiver.arrivals.get(id)?.at ?? Number.NaN) - start);
      }
      return `p50 ${percentileText(waits, 50)} from publish to arrival`;
    });
    return waits;
  }

  /** Publishes all payloads at once, and measures the jobs per second. */
  async #burst(): Promise<number> {
    const queue = await this.#createQueue('burst', 'fine', { concurrency: 50 });
    const total = this.#payloads.length * BURST_ROUNDS;
    const before = this.#receiver.arrivals.size;
    const arrived = () => this.#receiver.arrivals.size - before;
    let perSecond = 0;
    const state = () => `${arrived()}/${total}`;
    await showPhase(`${total} payloads at once`, state, async () => {
      const start = performance.now();
      let next = 0;
      const publisher = async () => {
        while (next < total) await this.#publish(queue, next++);
      };
      await Promise.all(Array.from({ length: PUBLISHERS }, publisher));
      await this.#until(() => arrived() >= total);
      perSecond = (total / (performance.now() - start)) * 1000;
      return `${total} delivered, ${Math.round(perSecond)} a second`;
    });
    return perSecond;
  }

  /** Publishes to webhooks that fail, return 429, are slow, are broken, and report late. Returns the broken one's queue. */
  async #misbehave(): Promise<DemoQueue> {
    const queues = new Map<Behaviour, DemoQueue>();
    const state = () => `${this.#receiver.arrivals.size} jobs have arrived`;
    await showPhase('webhooks that misbehave', state, async () => {
      for (const [behaviour, jobs, settings] of MISBEHAVIOUR) {
        const queue = await this.#createQueue(behaviour, behaviour, settings);
        queues.set(behaviour, queue);
        await Promise.all(Array.from({ length: jobs }, (_, i) => this.#publish(queue, i)));
      }
      await this.#allEnded();
      return 'retried, held, reported and given up as they should be';
    });
    const broken = queues.get('broken');
    if (broken === undefined) throw new Error('there is no broken webhook');
    return broken;
  }

  /** Repairs the broken webhook and replays its dead letters. Returns their number. */
  async #replay(broken: DemoQueue): Promise<number> {
    this.#receiver.heal();
    let replayed = 0;
    await showPhase(
      'replay of the dead letters',
      () => `${replayed} replayed`,
      async () => {
        replayed = await this.#replayAll(broken);
        await this.#allEnded();
        return `${replayed} delivered`;
      },
    );
    return replayed;
  }

  /** A replay has its own job id, and must arrive with the payload of the job that died. */
  async #replayAll(queue: DemoQueue): Promise<number> {
    const dlq = `/queues/${queue.id}/dlq`;
    const letters = await this.#api.get<{ jobs: { id: string; originalJobId: string }[] }>(dlq);
    const originals = new Map(letters.jobs.map(({ id, originalJobId }) => [id, originalJobId]));
    const result = await this.#api.post<{ replayed: number; jobs: { id: string; replayedJobId: string }[] }>(
      `${dlq}/replay`,
      '{"all":true}',
    );
    for (const { id, replayedJobId } of result.jobs) {
      const payload = this.#published.get(originals.get(id) ?? '');
      if (payload === undefined) throw new Error(`dead letter ${id} belongs to no job that the demo published`);
      this.#published.set(replayedJobId, payload);
    }
    return result.replayed;
  }

  async #createQueue(name: string, behaviour: Behaviour, settings: object): Promise<DemoQueue> {
    const webhookUrl = this.#receiver.addressOf(behaviour);
    const body = JSON.stringify({ name: `demo-${name}`, webhookUrl, ...settings });
    const queue = await this.#api.post<DemoQueue & { signingSecret: string }>('/queues', body);
    this.#receiver.expect(queue.name, queue.signingSecret);
    this.#queues.push(queue);
    return queue;
  }

  async #publish(queue: DemoQueue, index: number): Promise<string> {
    const payload = this.#payloads[index % this.#payloads.length] ?? '{}';
    const { id } = await this.#api.post<{ id: string }>(`/queues/${queue.name}/jobs`, `{"payload":${payload}}`);
    this.#published.set(id, payload);
    return id;
  }

  async #allEnded(): Promise<void> {
    const ended = async () => (await this.#jobs()).every(({ status }) => status === 'completed' || status === 'dead');
    await this.#until(ended, 50);
  }

  async #until(condition: () => boolean | Promise<boolean>, everyMs = 1): Promise<void> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
      this.#signal.throwIfAborted();
      if (performance.now() > giveUpAt) throw new Error(`the demo made no progress for ${PATIENCE_MS / 1000} s`);
      await wait(everyMs);
    }
  }

  async #jobs(): Promise<DemoJob[]> {
    const jobs: DemoJob[] = [];
    for (const queue of this.#queues) {
      for (let page = 1; ; page += 1) {
        const found = await this.#api.get<DemoPage>(`/queues/${queue.id}/jobs?limit=100&page=${page}`);
        jobs.push(...found.jobs);
        if (page * 100 >= found.total) break;
      }
    }
    return jobs;
  }

  async #count(): Promise<Pick<Figures, 'published' | 'delivered' | 'retried' | 'held' | 'dead'>> {
    const jobs = await this.#jobs();
    const entries = jobs.flatMap((job) => job.history);
    const counted = (...statuses: string[]) => entries.filter((entry) => statuses.includes(entry.status)).length;
    const dead = jobs.filter((job) => job.status === 'dead').length;
    return {
      published: jobs.length,
      delivered: jobs.filter((job) => job.status === 'completed').length,
      // Each failure led to another attempt, except the last one of each dead job.
      retried: counted('failed', 'nacked') - dead,
      held: counted('deferred'),
      dead,
    };
  }

  #compare(): Pick<Figures, 'verbatim' | 'badSignatures'> {
    const { arrivals } = this.#receiver;
    const verbatim = [...this.#published].every(([id, text]) => {
      const payload = Buffer.from(text);
      return arrivals.get(id)?.payloads.every((arrived) => arrived.equals(payload)) ?? false;
    });
    return { verbatim, badSignatures: this.#receiver.badSignatures() };
  }
}

/** Source texts: large numbers, escapes, key order and white space, which must all arrive as they are. */
function examplePayloads(): string[] {
  return readdirSync(PAYLOADS)
    .sort()
    .map((name) => readFileSync(new URL(name, PAYLOADS), 'utf8').trim());
}

/** By nearest rank, for the table: `12.3 ms`. */
export function percentileText(values: readonly number[], percent: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.NaN;
  return `${value.toFixed(1)} ms`;
}
