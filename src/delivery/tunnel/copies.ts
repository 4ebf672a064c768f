import type { Database } from '../../db/connection/database.ts';
import { type CopiedJob, jobsToCopy } from '../../db/tunnels.ts';
import { buildEnvelope } from '../envelope.ts';
import { requestHeaders } from '../send.ts';
import type { TunnelDelivery, TunnelSettings } from './tunnel.ts';

/** Attempts that a stream remembers, so that it sends each once. */
const MAX_SEEN = 10_000;

/**
 * Copies of the deliveries of a queue, for one client. They are made of what is stored,
 * so deliveries pay nothing for them.
 */
export class Copies {
  readonly #db: Database;
  readonly #queue: { accountId: string; queueId: string };
  readonly #settings: TunnelSettings;
  /** Number of the last attempt that was sent, by job. */
  readonly #seen = new Map<string, number>();
  #count = 0;

  constructor(db: Database, queue: { accountId: string; queueId: string }, settings: TunnelSettings) {
    this.#db = db;
    this.#queue = queue;
    this.#settings = settings;
  }

  /** @returns copies of the last attempts of these jobs, as far as they are new */
  async of(jobIds: readonly string[]): Promise<TunnelDelivery[]> {
    const jobs = await jobsToCopy(this.#db, this.#queue, jobIds);
    return jobs.filter((job) => this.#isNew(job)).map((job) => this.#copyOf(job));
  }

  #isNew({ id, attempt }: CopiedJob): boolean {
    if ((this.#seen.get(id) ?? 0) >= attempt) return false;
    this.#seen.delete(id);
    this.#seen.set(id, attempt);
    const [oldest] = this.#seen.keys();
    if (this.#seen.size > MAX_SEEN && oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }

  #copyOf({ id, queueName, attempt, maxAttempts, createdAt, ackTimeout, ...job }: CopiedJob): TunnelDelivery {
    this.#count += 1;
    const body = buildEnvelope({ id, queue: queueName, payload: job.payload, attempt, maxAttempts, createdAt });
    // Without a report URL: a copy must not be reported.
    const headers = requestHeaders(
      {
        url: job.webhookUrl,
        secret: job.signingSecret,
        nextSecret: job.nextSigningSecret,
        body,
        trace: job.trace,
        standardWebhooks: job.standardWebhooks,
        job: { id, queue: queueName, queueId: this.#queue.queueId, attempt, ackTimeout },
      },
      { signatureHeader: this.#settings.signatureHeader },
    );
    const { timeoutMs } = this.#settings;
    return { id: String(this.#count), jobId: id, attempt, headers, body: body.toString(), timeoutMs };
  }
}
