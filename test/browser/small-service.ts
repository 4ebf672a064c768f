import pg from 'pg';
import { createAccount } from '../support/account.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import type { Running } from '../support/process.ts';
import type { Receiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { createOperations, type Operate } from './operations.ts';
import { type Session, signInAt } from './page.ts';

/**
 * A service without a past, for flows that make what they need. Each test opens an account of its own, so that the
 * first line of a screen counts nothing but what the test has made.
 */
export interface SmallService {
  jobferry: Running;
  databaseUrl: string;
  openAccount(): Promise<Account>;
  /** Runs statements where the service has no way to make something in the time of a test. */
  inDatabase<Result>(run: (db: pg.Client) => Promise<Result>): Promise<Result>;
}

export interface Account {
  key: string;
  session: Session;
  graphql: GraphQL;
  operate: Operate;
  /** @returns the queue's id */
  createQueue(name: string, receiver: Pick<Receiver, 'url'>, settings?: object): Promise<string>;
  /** Publishes one job, and waits until it is in the status. @returns its id */
  publishUntil(status: string, queue: string, payload?: string): Promise<string>;
  /** Publishes jobs that die at once, as the receiver refuses them, and waits for their dead letters. */
  letDie(queue: string, payloads: readonly string[]): Promise<void>;
}

export async function startSmallService(env: Record<string, string> = {}): Promise<SmallService> {
  const { jobferry, databaseUrl } = await startService(env);
  return {
    jobferry,
    databaseUrl,
    openAccount: async () => accountOf((await createAccount(databaseUrl)).key, jobferry.baseUrl),
    async inDatabase(run) {
      const db = new pg.Client({ connectionString: databaseUrl });
      await db.connect();
      try {
        return await run(db);
      } finally {
        await db.end();
      }
    },
  };
}

export async function accountOf(key: string, baseUrl: string): Promise<Account> {
  const graphql = createGraphQLClient(baseUrl, key);
  const operate = createOperations(graphql);
  return {
    key,
    session: await signInAt(baseUrl, key),
    graphql,
    operate,
    createQueue: (name, receiver, settings = {}) =>
      operate.createQueue({ name, webhookUrl: `${receiver.url}/hooks/${name}`, ...settings }),
    async publishUntil(status, queue, payload = '{}') {
      const [id = ''] = await operate.publish(queue, [payload]);
      const asked = async () =>
        (await graphql.query('query ($id: ID!) { job(id: $id) { status } }', { id })).job.status;
      await waitFor(async () => (await asked()) === status, { message: `job ${id} to be ${status}` });
      return id;
    },
    async letDie(queue, payloads) {
      const count = async () =>
        (await graphql.query('{ deadLetters(first: 1, filter: { replayed: false }) { totalCount } }')).deadLetters
          .totalCount;
      const before: number = await count();
      await operate.publish(queue, payloads);
      await waitFor(async () => (await count()) === before + payloads.length, { message: `${payloads.length} deaths` });
    },
  };
}
