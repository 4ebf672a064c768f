import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Admission } from '../../domain/replication.ts';
import { type Repeated, repeat } from '../../pacing/repeat.ts';
import { Connections, type PoolUse } from './connections.ts';
import type { Database, Statement } from './database.ts';
import { KEEP_ALIVE } from './keep-alive.ts';
import { isPooler } from './pooler.ts';
import { GRAPHQL_MS, MAX_READING_CONNECTIONS, type ReadingOptions, readingTurns, runInTurn } from './reading.ts';
import { blame } from './replica-blame.ts';
import { positionOf, ReplicaPosition } from './replica-position.ts';

/** How often the positions of primary and replica are compared, also while no request reads. */
const COMPARE_MS = 500;
/** A replica that does not reply for so long is not used. */
const REPLY_MS = 1000;
/** How long a request waits for the replica to have what its client has changed or seen. */
const CATCH_UP_MS = 300;
const CATCH_UP_EVERY_MS = 15;

export const SAMPLE: Statement = {
  name: 'replica-sample',
  text: `
    select pg_current_wal_lsn()::text as position,
           ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer as timeline,
           (select max(last_seen_at)::text from instance) as beat`,
};

const REPLAYED = `
  select pg_is_in_recovery() as standby, pg_last_wal_replay_lsn()::text as position,
         pg_postmaster_start_time()::text as started, (select max(last_seen_at)::text from instance) as beat`;

interface Replayed {
  standby: boolean;
  position: string | null;
  started: string;
  beat: string | null;
}

interface ReplicaOptions {
  url: string;
  /** The primary. */
  db: Database;
  log: Record<'info' | 'warn', (fields: object, message: string) => void>;
  /** A replica that is further behind is not used. */
  maxLagMs: number;
}

/** A standby for the reads of dashboards and searches. */
export class Replica {
  readonly turns = readingTurns();
  readonly #connections: Connections;
  readonly #options: ReplicaOptions;
  readonly #position = new ReplicaPosition();
  readonly #open = new Set<pg.PoolClient>();
  readonly #comparing: Repeated;
  #watch: pg.Client | null = null;
  /** Start of the server to which the watching connection leads. */
  #started: string | null = null;
  /** Why it cannot be used, apart from being behind. */
  #fault: string | null = 'it has not been looked at yet';
  #running: Promise<void> | null = null;
  /** How far it was behind at the last look. */
  #lastLagMs = Number.POSITIVE_INFINITY;
  #logged: string | null = null;
  #isStopped = false;

  constructor(options: ReplicaOptions) {
    const { url, log } = options;
    this.#options = options;
    const guard = { check: (client: Pick<pg.Client, 'query'>) => this.#check(client) };
    this.#connections = new Connections(url, MAX_READING_CONNECTIONS, log, guard, { usualMs: GRAPHQL_MS });
    this.pool.on('connect', (client) => this.#open.add(client));
    this.pool.on('remove', (client) => this.#open.delete(client));
    this.#comparing = repeat(COMPARE_MS, log, 'comparing the replica with the primary', () => this.#compareOnce());
  }

  get pool(): pg.Pool {
    return this.#connections.pool;
  }

  /** Whether statements of requests that were admitted may still be sent to it. */
  get isUsable(): boolean {
    return this.#fault === null;
  }

  /**
   * Decides where a request reads. Waits a moment if the replica lacks something.
   * @param since a `performance.now()`: the replica must have all that was committed before; undefined if the client
   *   has changed nothing lately
   */
  async admit(since = Number.NEGATIVE_INFINITY): Promise<Admission> {
    const giveUpAt = performance.now() + CATCH_UP_MS;
    // A replica that was further behind at the last look would not catch up in time.
    const mayCatchUp = () => this.#problem() === null && this.#lastLagMs < CATCH_UP_MS && performance.now() < giveUpAt;
    while (this.#position.asOf < since && mayCatchUp()) {
      await Promise.race([this.#compareOnce(), sleep(giveUpAt - performance.now(), undefined, { ref: false })]);
      if (this.#position.asOf < since) await sleep(CATCH_UP_EVERY_MS);
    }
    const problem = this.#problem();
    if (problem !== null) return { problem };
    if (this.#position.asOf < since) return { problem: 'it does not have the latest change of this client yet' };
    return { lagMs: performance.now() - this.#position.asOf };
  }

  /** Runs statements of an account in its turn, and throws a `ReplicaFailed` if one fails because of the replica. */
  inTurn(accountId: string, options: ReadingOptions): ReturnType<typeof runInTurn> {
    const run: Connections['run'] = <Row extends pg.QueryResultRow>(...sent: Parameters<Connections['run']>) =>
      this.#connections.run<Row>(...sent).catch(blame);
    return runInTurn({ turns: this.turns, connections: { run } }, accountId, options);
  }

  /** For metrics. The lag is an upper bound, and null while it is not known. */
  get state(): { lagSeconds: number | null; inUse: boolean } {
    const lagMs = performance.now() - this.#position.asOf;
    return { lagSeconds: Number.isFinite(lagMs) ? lagMs / 1000 : null, inUse: this.#problem() === null };
  }

  use(): PoolUse {
    return this.#connections.use('replica');
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#comparing.stop();
    await this.#running;
    this.#drop();
    await this.#connections.close();
  }

  #problem(): string | null {
    if (this.#fault !== null) return this.#fault;
    if (!this.#position.follows) return 'it has not yet shown that it follows the present primary';
    const lagMs = performance.now() - this.#position.asOf;
    return lagMs > this.#options.maxLagMs ? 'it is too far behind' : null;
  }

  /** One comparison at a time, for all who wait. */
  async #compareOnce(): Promise<void> {
    this.#running ??= this.#compare().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #compare(): Promise<void> {
    const { db } = this.#options;
    const at = performance.now();
    // Without the primary it is not known how far the replica is behind, so it falls behind.
    const sample = await db.one<{ position: string; timeline: number; beat: string | null }>(SAMPLE).catch(() => null);
    if (sample !== null) this.#position.sampled({ ...sample, at, position: positionOf(sample.position) });
    if (this.#isStopped) return;
    try {
      const { position, beat } = await this.#ask();
      this.#fault = null;
      this.#position.reached(positionOf(position), beat);
      this.#lastLagMs = performance.now() - this.#position.asOf;
    } catch (error) {
      this.#drop(error instanceof Error ? error.message : String(error));
    }
    this.#report();
  }

  /** @throws Error that says why the replica cannot be used */
  async #ask(): Promise<{ position: string; beat: string | null }> {
    this.#watch ??= await this.#connect();
    const { rows } = await this.#watch.query<Replayed>(REPLAYED);
    const [row] = rows;
    if (row === undefined || !row.standby || row.position === null) throw new Error('it is not a standby');
    if (this.#started !== null && this.#started !== row.started) this.#position.forget();
    this.#started = row.started;
    return { position: row.position, beat: row.beat };
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'jobferry replica watch',
      connectionTimeoutMillis: REPLY_MS,
      query_timeout: REPLY_MS,
      ...KEEP_ALIVE,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      // In transaction mode, statements would fail with errors that the primary would not give.
      if (await isPooler(client)) throw new Error('its address leads to a pooler');
      return client;
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  /** Ends all connections, so that statements which wait for the replica are sent to the primary now. */
  #drop(fault = 'it is not used any more'): void {
    this.#fault = fault;
    this.#started = null;
    this.#position.forget();
    void this.#watch?.end().catch(() => undefined);
    this.#watch = null;
    for (const client of this.#open) {
      (client as unknown as pg.Client).connection.stream.destroy(new Error(`the replica is not used: ${fault}`));
    }
  }

  /** Connections must lead to the server whose position is known. */
  async #check(client: Pick<pg.Client, 'query'>): Promise<void> {
    const { rows } = await client.query<{ standby: boolean; started: string }>(
      'select pg_is_in_recovery() as standby, pg_postmaster_start_time()::text as started',
    );
    if (rows[0]?.standby !== true) throw new Error('the replica is not a standby');
    if (rows[0].started === this.#started) return;
    // The watching connection goes to the new server, too, when it is opened again.
    this.#drop('its address leads to another server than before');
    throw new Error('the address of the replica leads to another server than before');
  }

  #report(): void {
    const problem = this.#problem();
    if (problem === this.#logged) return;
    if (problem === null) {
      this.#options.log.info(
        { lagMs: Math.round(performance.now() - this.#position.asOf) },
        'GraphQL reads from the replica',
      );
    } else this.#options.log.warn({ reason: problem }, 'GraphQL does not read from the replica, but from the primary');
    this.#logged = problem;
  }
}
