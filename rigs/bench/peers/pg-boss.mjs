import PgBoss from 'pg-boss';

const POOL_SIZE = 20;
/** The shortest that pg-boss allows. */
const POLLING_SECONDS = 0.5;
/** A batch ends when its slowest delivery does, so several smaller ones keep the connections busier than one. */
const WORKERS = 4;

async function start(env, options = {}) {
  const boss = new PgBoss({ connectionString: env.DATABASE_URL, max: POOL_SIZE, ...options });
  boss.on('error', (error) => console.error(error));
  await boss.start();
  return boss;
}

export async function openQueue({ env, queue }) {
  const boss = await start(env, { supervise: false, schedule: false });
  await boss.createQueue(queue);
  return (job, { delayMs }) =>
    boss.send(queue, job, {
      retryLimit: job.maxAttempts - 1,
      retryDelay: 2,
      retryBackoff: true,
      ...(delayMs === 0 ? {} : { startAfter: new Date(Date.now() + delayMs) }),
    });
}

export async function startWorker({ env, queue, concurrency, deliver }) {
  const boss = await start(env);
  const batchSize = Math.ceil(concurrency / WORKERS);
  for (let n = 0; n < WORKERS; n += 1) {
    const id = await boss.work(queue, { batchSize, includeMetadata: true, pollingIntervalSeconds: POLLING_SECONDS }, async (jobs) => {
      // A full batch: there may be more, and the next poll need not be waited for.
      if (jobs.length === batchSize) boss.notifyWorker(id);
      await Promise.all(
        jobs.map((job) =>
          // The others of the batch must not fail with it.
          deliver(job.data, job.retryCount + 1).catch((error) => boss.fail(queue, job.id, error)),
        ),
      );
    });
  }
}
