import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Api } from '../../test/support/api.ts';
import type { ReceivedRequest, Receiver } from '../../test/support/receiver.ts';
import { openReceiver } from '../../test/support/service.ts';
import { waitFor } from '../../test/support/wait-for.ts';

/** How each queue's receiver answers, and how many deliveries each of its jobs needs. */
const QUEUES = {
  plain: { settings: {}, deliveries: 1 },
  ack: { settings: { mode: 'ack' }, deliveries: 1 },
  failing: { settings: { maxAttempts: 2, backoffDelay: 0 }, deliveries: 2 },
  held: { settings: {}, deliveries: 2 },
} as const;
type QueueName = keyof typeof QUEUES;

export interface Verdict {
  /** Answers to publishes by status. */
  answers: Record<string, number>;
  /** Answers to acks by status. */
  reports: Record<string, number>;
  accepted: number;
  completed: number;
  dead: number;
  /** Accepted jobs that are not in the database. */
  gone: number;
  /** Deliveries beyond those that the answers of the receiver explain. */
  repeated: number;
  /** Jobs that were accepted and never delivered. */
  undelivered: number;
}

/**
 * Publishes jobs with idempotency keys to four queues, at a steady rate and without retries, and remembers all answers.
 */
export class TrialLoad {
  readonly #receiver: Receiver;
  readonly #api: () => Api;
  readonly #accepted = new Map<string, QueueName>();
  readonly #answers: Record<string, number> = {};
  readonly #reports: Record<string, number>;
  readonly #running = new Set<Promise<void>>();

  private constructor(receiver: Receiver, api: () => Api, reports: Record<string, number>) {
    this.#receiver = receiver;
    this.#api = api;
    this.#reports = reports;
  }

  /** @param api returns the API that gets the next publish */
  static async open(api: () => Api): Promise<TrialLoad> {
    const held = new Set<string>();
    const reports: Record<string, number> = {};
    const respond = (request: ReceivedRequest) => {
      const { queue, id } = request.json();
      if (queue === 'failing') return { status: 500 };
      if (queue === 'ack') {
        void reportLater(api, id, reports);
        return { status: 202 };
      }
      if (queue !== 'held' || held.has(id)) return { status: 200 };
      held.add(id);
      return { status: 503, headers: { 'retry-after': 2 } };
    };
    const receiver = await openReceiver(respond);
    for (const [name, { settings }] of Object.entries(QUEUES)) {
      await api().createQueue({ name, webhookUrl: receiver.url, concurrency: 100, ...settings });
    }
    return new TrialLoad(receiver, api, reports);
  }

  get requests(): readonly ReceivedRequest[] {
    return this.#receiver.requests;
  }

  /** Ids of the accepted jobs. */
  get accepted(): string[] {
    return [...this.#accepted.keys()];
  }

  async publish(count: number, perSecond: number): Promise<void> {
    const names = Object.keys(QUEUES) as QueueName[];
    const begun = performance.now();
    for (let n = 0; n < count; n += 1) {
      const wait = begun + (n * 1000) / perSecond - performance.now();
      if (wait > 0) await sleep(wait);
      const sent = this.#publish(names[n % names.length] ?? 'plain', n);
      this.#running.add(sent);
      void sent.finally(() => this.#running.delete(sent));
    }
    await Promise.all(this.#running);
  }

  async #publish(queue: QueueName, n: number): Promise<void> {
    const body = { payload: { n }, idempotencyKey: `key-${n}-${this.#accepted.size}` };
    const answer = await this.#api()
      .call<{ id: string }>('POST', `/v1/queues/${queue}/jobs`, body)
      .catch(() => null);
    count(this.#answers, answer?.status ?? 'none');
    if (answer?.status === 201 || answer?.status === 200) this.#accepted.set(answer.body.id, queue);
  }

  /** Waits until all accepted jobs of the database have ended, and compares answers, receiver and database. */
  async judge(databaseUrl: string): Promise<Verdict> {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      const states = async () => {
        const text = 'select status, count(*)::int as jobs from job where id = any ($1) group by 1';
        const { rows } = await client.query<{ status: string; jobs: number }>(text, [this.accepted]);
        return Object.fromEntries(rows.map(({ status, jobs }) => [status, jobs]));
      };
      const ended = await waitFor(
        async () => {
          const found = await states();
          const { pending = 0, processing = 0, awaiting_ack: awaiting = 0 } = found;
          return pending + processing + awaiting === 0 ? found : null;
        },
        { timeoutMs: 120_000, everyMs: 500, message: 'the end of all jobs' },
      );
      const { completed = 0, dead = 0 } = ended;
      const deliveries = new Map<string, number>();
      for (const request of this.requests) {
        const { id } = request.json();
        deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      }
      const jobs = [...this.#accepted].map(
        ([id, queue]) => [deliveries.get(id) ?? 0, QUEUES[queue].deliveries] as const,
      );
      return {
        answers: this.#answers,
        reports: this.#reports,
        accepted: jobs.length,
        completed,
        dead,
        gone: jobs.length - completed - dead,
        repeated: jobs.reduce((sum, [was, expected]) => sum + Math.max(0, was - expected), 0),
        undelivered: jobs.filter(([was]) => was === 0).length,
      };
    } finally {
      await client.end();
    }
  }
}

function count(counts: Record<string, number>, what: number | string): void {
  counts[what] = (counts[what] ?? 0) + 1;
}

/** Acks a job once it waits for that, which is after the answer to its delivery, and repeats what fails. */
async function reportLater(api: () => Api, id: string, reports: Record<string, number>): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    await sleep(200);
    const status = await api()
      .call('POST', `/v1/jobs/${id}/ack`)
      .then((answer) => answer.status)
      .catch(() => 'none');
    if (status !== 409) count(reports, status);
    if (status === 200 || status === 404) return;
  }
}
