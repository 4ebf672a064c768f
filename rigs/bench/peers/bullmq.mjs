import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';

const BACKOFF_MS = 2000;

function connect(env) {
  return new Redis(env.REDIS_URL, { maxRetriesPerRequest: null });
}

export async function openQueue({ env, queue }) {
  const jobs = new Queue(queue, { connection: connect(env), prefix: env.PREFIX });
  await jobs.waitUntilReady();
  return (job, { delayMs }) =>
    jobs.add('deliver', job, {
      jobId: job.id,
      delay: delayMs,
      attempts: job.maxAttempts,
      backoff: { type: 'exponential', delay: BACKOFF_MS },
      // No history is kept, which is the cheapest.
      removeOnComplete: true,
      removeOnFail: 1000,
    });
}

export async function startWorker({ env, queue, concurrency, deliver }) {
  const worker = new Worker(queue, (job) => deliver(job.data, job.attemptsMade + 1), {
    connection: connect(env),
    prefix: env.PREFIX,
    concurrency,
  });
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();
}
