import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { cpuOf, peakRssOf } from '../measure/processes.mjs';
import { startChild } from '../stage/child.mjs';
import { startRedis } from '../stage/redis.mjs';

const MAIN = fileURLToPath(new URL('../peers/main.mjs', import.meta.url));
const READY = /ready(?: on (http:\S+))?/;
const QUEUE = 'bench-0';

/** The programs in ../peers, on a database or a Redis server of their own. */
function peer({ name, label, library, roles, openStore }) {
  return {
    name,
    label,
    async start(stage, { concurrency = 100, webhookUrl }) {
      const store = await openStore(stage);
      const secret = randomBytes(32).toString('hex');
      const apiKey = randomBytes(24).toString('hex');
      const children = {};
      const stop = async () => {
        for (const child of Object.values(children).toReversed()) await child.stop();
        await store.stop();
      };
      try {
        for (const role of roles) {
          children[role] = await startChild(process.execPath, [MAIN, library, role], {
            ready: READY,
            env: {
              ...store.env,
              API_KEY: apiKey,
              SIGNING_SECRET: secret,
              WEBHOOK_URL: webhookUrl,
              QUEUE,
              CONCURRENCY: String(concurrency),
            },
          });
        }
      } catch (error) {
        await stop();
        throw error;
      }
      const url = new URL(children.api.match[1]);
      return {
        published: 0,
        accepted: 0,
        records: [],
        target: { host: url.hostname, port: Number(url.port), apiKey, paths: [`/v1/queues/${QUEUE}/jobs`] },
        secrets: { [QUEUE]: secret },
        cpu: () => ({ ...eachOf(children, cpuOf), ...store.cpu() }),
        peakRss: () => eachOf(children, peakRssOf),
        stop,
      };
    },
  };
}

function eachOf(children, measure) {
  return Object.fromEntries(Object.entries(children).map(([role, { pid }]) => [role, measure(pid)]));
}

const onNothing = async () => ({ env: {}, cpu: () => ({}), stop: async () => undefined });

const onPostgres = (database) => async (stage) => ({
  env: { DATABASE_URL: await stage.postgres.createDatabase(database) },
  cpu: () => ({ postgres: stage.postgres.cpu() }),
  stop: () => stage.postgres.dropDatabase(database),
});

const onRedis = (appendfsync) => async (stage) => {
  const redis = await startRedis(stage.dataDir, appendfsync);
  return {
    env: { REDIS_URL: redis.url, PREFIX: `jobferry-bench-${Date.now()}` },
    cpu: () => ({ redis: redis.cpu() }),
    stop: redis.stop,
  };
};

const both = ['api', 'worker'];

export const floor = peer({ name: 'floor', label: 'no queue', library: 'floor', roles: ['api'], openStore: onNothing });
export const bullmqAlways = peer({
  name: 'bullmq-always',
  label: 'BullMQ, Redis appendfsync always',
  library: 'bullmq',
  roles: both,
  openStore: onRedis('always'),
});
export const bullmqEverysec = peer({
  name: 'bullmq-everysec',
  label: 'BullMQ, Redis appendfsync everysec',
  library: 'bullmq',
  roles: both,
  openStore: onRedis('everysec'),
});
export const pgBoss = peer({
  name: 'pg-boss',
  label: 'pg-boss',
  library: 'pg-boss',
  roles: both,
  openStore: onPostgres('bench_pg_boss'),
});
export const graphileWorker = peer({
  name: 'graphile-worker',
  label: 'graphile-worker, one job per delivery',
  library: 'graphile-worker',
  roles: both,
  openStore: onPostgres('bench_graphile_worker'),
});
