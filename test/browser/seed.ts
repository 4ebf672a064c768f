import pg from 'pg';
import { generateApiKey } from '../../src/services/accounts/api-key.ts';
import { createAccount, type TestAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import type { PathProxy } from '../support/path-proxy.ts';
import type { Running } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { indexPast } from './history.ts';
import { type LiveJob, makeLiveStates, stopQueues } from './live-states.ts';
import { createOperations } from './operations.ts';
import { type Session, signInAt } from './page.ts';
import { insertBacklogs, insertHistory, type QueueIds } from './past.ts';
import { createQueues } from './queues.ts';
import { answerOf } from './receivers.ts';
import { insertSpecialJobs, type SpecialJob } from './special-jobs.ts';

/**
 * A service with a history of three hours, every condition of a queue, every state, waiting reason and cause of death
 * of a job, bulk actions and an audit log. Its services, its receivers and all that moves are real.
 */
export interface SeededService {
  api: Running;
  worker: Running;
  databaseUrl: string;
  key: string;
  /** A sign-in with the key. */
  session: Session;
  graphql: GraphQL;
  queues: QueueIds;
  jobs: Readonly<Record<SpecialJob | LiveJob, string>>;
  actions: { running: string; ended: string };
  /** Another account, with a queue and jobs of its own that the first one must never see. */
  stranger: TestAccount & { queueId: string; jobIds: string[] };
}

const KEY = generateApiKey();
const ENV = {
  BOOTSTRAP_API_KEY: KEY,
  NODE_ENV: 'production',
  WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  // The limit that the past of the jobs was made with.
  WEBHOOK_TIMEOUT_SECONDS: '15',
};

export interface SeedOptions {
  env?: Record<string, string>;
  /** A proxy, whose address is that of the dashboard in browsers. */
  front?: PathProxy;
  /** The address at which the processes reach the database: that of a relay that a test cuts, for instance. */
  reach?: (databaseUrl: string) => Promise<string>;
  /** Writes more of a past, before a worker runs. */
  beforeWorker?: (databaseUrl: string, queues: QueueIds) => Promise<void>;
  /** Stands in for `reach` in the API process alone. */
  reachOfApi?: (databaseUrl: string) => Promise<string>;
}

export async function seedService({
  env = {},
  front,
  reach,
  reachOfApi = reach,
  beforeWorker,
}: SeedOptions = {}): Promise<SeededService> {
  const { url: databaseUrl } = await createTestDatabase();
  const address = front === undefined ? {} : { PUBLIC_URL: front.url };
  const start = async (role: 'api' | 'worker', way = reach) =>
    startInProcess({
      databaseUrl: (await way?.(databaseUrl)) ?? databaseUrl,
      role,
      env: { ...ENV, ...address, ...env },
    });
  const receiver = await openReceiver(answerOf);
  const api = await start('api', reachOfApi);
  const graphql = createGraphQLClient(api.baseUrl, KEY);
  const queues = await createQueues(graphql, receiver.url);
  const stranger = await seedStranger(databaseUrl, api.baseUrl, receiver.url);
  // No worker runs yet, so nothing moves while the history is written.
  await beforeWorker?.(databaseUrl, queues);
  const special = await writePast(databaseUrl, queues);
  await stopQueues({ graphql, queues, databaseUrl });
  const worker = await start('worker');
  const { jobs, actions } = await makeLiveStates({ graphql, queues, databaseUrl });
  front?.pointTo(api.baseUrl);
  const session = await signInAt(front === undefined ? api.baseUrl : front.url.replace(/\/$/, ''), KEY);
  return {
    api,
    worker,
    databaseUrl,
    key: KEY,
    session,
    graphql,
    queues,
    jobs: { ...special, ...jobs },
    actions,
    stranger,
  };
}

async function writePast(databaseUrl: string, queues: QueueIds): Promise<Record<SpecialJob, string>> {
  const db = new pg.Client({ connectionString: databaseUrl });
  await db.connect();
  try {
    await insertHistory(db, queues);
    await insertBacklogs(db, queues);
    const special = await insertSpecialJobs(db, queues);
    await indexPast(db);
    return special;
  } finally {
    await db.end();
  }
}

async function seedStranger(databaseUrl: string, baseUrl: string, receiverUrl: string) {
  const account = await createAccount(databaseUrl);
  const graphql = createGraphQLClient(baseUrl, account.key);
  const operate = createOperations(graphql);
  const name = 'of-another-account';
  const queueId = await operate.createQueue({ name, webhookUrl: `${receiverUrl}/hooks/${name}` });
  const payloads = [0, 1, 2, 3, 4].map((n) => `{"customer":{"id":42},"secret":"of another account ${n}"}`);
  return { ...account, queueId, jobIds: await operate.publish(name, payloads, 7200) };
}
