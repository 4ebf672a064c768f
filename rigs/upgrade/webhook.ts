import pg from 'pg';
import { type ReceivedRequest, type Receiver, verifySignature } from '../../test/support/receiver.ts';
import { openReceiver } from '../../test/support/service.ts';

/** The webhook of all queues of an upgrade, and the database as a test sees it. */
export class Webhook {
  /** Queues from which each worker has delivered, by the worker's id. */
  readonly deliveredBy = new Map<number, Set<string>>();
  readonly #pool: pg.Pool;
  /** Numbers of the jobs that fail, with the id of the first job of each: only a replay succeeds. */
  readonly #failed = new Map<unknown, string>();
  #receiver: Receiver | null = null;

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    this.#pool.on('error', () => undefined);
  }

  /** @returns its URL */
  async open(): Promise<string> {
    this.#receiver = await openReceiver(async (request) => {
      const { id, queue } = request.json();
      const [row] = await this.query<{ worker_id: number | null }>('select worker_id from job where id = $1', [id]);
      if (row?.worker_id != null) {
        this.deliveredBy.set(row.worker_id, (this.deliveredBy.get(row.worker_id) ?? new Set()).add(queue));
      }
      return { status: this.#statusFor(request) };
    });
    return this.#receiver.url;
  }

  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.#pool.query<Row>(text, values)).rows;
  }

  /** @param from the rest of a statement, from the name of the table on */
  async count(from: string, values: unknown[] = []): Promise<number> {
    const [row] = await this.query<{ n: number }>(`select count(*)::integer as n from ${from}`, values);
    return row?.n ?? -1;
  }

  /** The last request for each job. */
  received(): Map<string, ReceivedRequest> {
    return new Map(this.#receiver?.requests.map((request) => [request.json().id, request]));
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  #statusFor(request: ReceivedRequest): number {
    const { id, queue, attempt, payload } = request.json();
    // The first attempt of some fails, so that one build retries what the other has delivered.
    if (queue === 'plain') return attempt === 1 && isOneOf(5, id) ? 500 : 200;
    if (queue === 'acked') return 202;
    if (queue !== 'dying' && queue !== 'bulk') return 200;
    const { n } = payload as { n: number };
    if (!this.#failed.has(n)) this.#failed.set(n, id);
    return this.#failed.get(n) === id ? 500 : 200;
  }
}

/** Selects one job of so many; ids are random at their end. */
export const isOneOf = (count: number, id: string) => Number.parseInt(id.slice(-2), 16) % count === 0;

/** @param payload undefined if any payload is right */
export function classifyDelivery(request: ReceivedRequest | undefined, payload: object | undefined, secret: string) {
  if (request === undefined) return 'none';
  const { payload: received } = request.json();
  if (payload !== undefined && JSON.stringify(received) !== JSON.stringify(payload)) return 'another payload';
  return verifySignature(request.raw, request.headers['x-service-signature'], secret) ? 'right' : 'wrong signature';
}
