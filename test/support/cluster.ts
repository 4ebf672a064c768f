import pg from 'pg';
import { afterAll } from 'vitest';
import { describeApiKey, generateApiKey } from '../../src/services/accounts/api-key.ts';
import { type Api, createApi } from './api.ts';
import { createTestDatabase } from './database.ts';
import { startInProcess } from './in-process.ts';
import { type Jobferry, type Running, startJobferry } from './process.ts';
import { waitFor } from './wait-for.ts';

const KEY = 'test-key-of-the-first-account';

export interface ClusterOptions {
  apis?: number;
  workers?: number;
  env?: Record<string, string>;
}

export type Cluster<Kind extends Running = Running> = Awaited<ReturnType<typeof startWith<Kind>>>;

/** Several services on one database, as on several machines: API and workers know nothing of each other. */
export function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  return startWith(startInProcess, options);
}

/** As `startCluster`, as processes: for tests that kill them, or measure one. */
export function startProcesses(options: ClusterOptions = {}): Promise<Cluster<Jobferry>> {
  return startWith(startJobferry, options);
}

type Start<Kind> = (options: {
  databaseUrl: string;
  role: 'api' | 'worker';
  env: Record<string, string>;
}) => Promise<Kind>;

async function startWith<Kind extends Running>(
  startOne: Start<Kind>,
  { apis = 1, workers = 2, env = {} }: ClusterOptions,
) {
  const { url: databaseUrl } = await createTestDatabase();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  // Some tests cut every connection to the database, and these are among them.
  pool.on('error', () => undefined);
  afterAll(() => pool.end());

  const start = (role: 'api' | 'worker') => startOne({ databaseUrl, role, env: { BOOTSTRAP_API_KEY: KEY, ...env } });
  const startAll = (role: 'api' | 'worker', count: number) => {
    const starts: Promise<Kind>[] = Array.from({ length: count }, () => start(role));
    return Promise.all<Promise<Kind>[]>(starts) as Promise<Kind[]>;
  };
  const [apiProcesses, workerProcesses] = await Promise.all([startAll('api', apis), startAll('worker', workers)]);
  const clients = apiProcesses.map((process) => createApi(process.baseUrl, KEY));
  const api = clients[0] as Api;

  async function query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await pool.query<Row>(text, values)).rows;
  }

  return {
    databaseUrl,
    query,
    api,
    /** One client per API process, all of the same account. */
    apis: clients,
    apiProcesses,
    /** Workers started so far, dead ones too. */
    workers: workerProcesses,

    async addApi(): Promise<Kind> {
      const added = await start('api');
      apiProcesses.push(added);
      return added;
    },

    async addWorker(): Promise<Kind> {
      const worker = await start('worker');
      workerProcesses.push(worker);
      return worker;
    },

    /** A client of a new account. */
    async addAccount(plan: string): Promise<Api> {
      const key = generateApiKey();
      const { hash, prefix, lastFour } = describeApiKey(key);
      await query(
        `with created as (insert into account (name, plan) values ('another', $1) returning id)
         insert into api_key (account_id, hash, prefix, last_four) select id, $2, $3, $4 from created`,
        [plan, hash, prefix, lastFour],
      );
      return createApi(apiProcesses[0]?.baseUrl ?? '', key);
    },

    /** The worker that has the job in flight. */
    async workerOf(jobId: string): Promise<Kind> {
      const [row] = await query<{ worker_id: number }>('select worker_id from job where id = $1', [jobId]);
      const isIts = (worker: Kind) => worker.logs.some(({ workerId }) => workerId === row?.worker_id);
      const found = workerProcesses.find(isIts);
      if (found === undefined) throw new Error(`no worker has job ${jobId}`);
      return found;
    },

    /** How many jobs of a queue have this status. */
    async count(queueId: string, status: string): Promise<number> {
      const [row] = await query<{ n: number }>(
        'select count(*)::int as n from job where queue_id = $1 and status = $2',
        [queueId, status],
      );
      return row?.n ?? 0;
    },

    async waitForCount(queueId: string, status: string, count: number, timeoutMs = 60_000): Promise<void> {
      await waitFor(async () => (await this.count(queueId, status)) === count, {
        timeoutMs,
        message: `${count} jobs ${status}`,
      });
    },
  };
}

/** Publishes so many jobs with so many requests open at once; returns their ids. */
export async function publishMany(
  api: Api,
  queueName: string,
  count: number,
  body: (index: number) => Parameters<Api['publish']>[1] = (index) => ({ payload: { index } }),
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const publisher = async () => {
    for (let index = next++; index < count; index = next++) ids.push((await api.publish(queueName, body(index))).id);
  };
  await Promise.all(Array.from({ length: Math.min(count, 50) }, publisher));
  return ids;
}
