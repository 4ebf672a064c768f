import { Logger, makeWorkerUtils, run } from 'graphile-worker';

const POOL_SIZE = 20;
/** One line per job would cost more than the job. */
const quiet = new Logger(() => () => undefined);

export async function openQueue({ env }) {
  const utils = await makeWorkerUtils({ connectionString: env.DATABASE_URL, maxPoolSize: POOL_SIZE, logger: quiet });
  await utils.migrate();
  return (job, { delayMs }) =>
    utils.addJob('deliver', job, { maxAttempts: job.maxAttempts, runAt: delayMs === 0 ? undefined : new Date(Date.now() + delayMs) });
}

export async function startWorker({ env, concurrency, deliver }) {
  await run({
    connectionString: env.DATABASE_URL,
    concurrency,
    maxPoolSize: POOL_SIZE,
    noHandleSignals: true,
    logger: quiet,
    taskList: { deliver: (job, helpers) => deliver(job, helpers.job.attempts) },
  });
}
