import { createHmac } from 'node:crypto';
import { readEnvelope } from '../checker/envelope.ts';
import type { ChangeRow, DeliveryRecord, JobRow, QueueRecord, Run } from '../records.ts';

/** A bug as it would show in the records of a run, and in nothing else. */
export interface Bug {
  id: string;
  what: string;
  plant(run: Run): void;
}

/** The item into which a bug is planted; without one the recorded run was too small. */
export function first<T>(items: T[], matches: (item: T) => boolean, what: string): T {
  const found = items.find(matches);
  if (found === undefined) throw new Error(`the recorded run has no ${what}`);
  return found;
}

export function queueNamed(run: Run, name: string): QueueRecord {
  return first(run.queues, (queue) => queue.name === name, `queue ${name}`);
}

/** A finished job of the queue with one ordinary delivery, which no client read in between. */
export function ordinaryJob(run: Run, queueName = 'plain'): JobRow {
  const { id: queueId } = queueNamed(run, queueName);
  const interrupted = new Set(run.faults.flatMap((fault) => fault.interrupted));
  const isOrdinary = (job: JobRow) =>
    job.queueId === queueId &&
    job.status === 'completed' &&
    job.attempts === 1 &&
    job.deferCount === 0 &&
    !interrupted.has(job.id) &&
    deliveriesOf(run, job.id).length === 1 &&
    run.publishes.some(({ id, outcome }) => id === job.id && outcome === 'ok');
  const job = first(run.jobs, isOrdinary, `ordinary job of ${queueName}`);
  run.terminalReads = run.terminalReads.filter(({ id }) => id !== job.id);
  run.reads = run.reads.filter(({ id }) => id !== job.id);
  return job;
}

export function deliveriesOf(run: Run, jobId: string): DeliveryRecord[] {
  return run.deliveries.filter((delivery) => delivery.raw.includes(jobId) && readEnvelope(delivery)?.id === jobId);
}

export function deliveryOf(run: Run, jobId: string): DeliveryRecord {
  return first(deliveriesOf(run, jobId), () => true, `delivery of ${jobId}`);
}

/** Sends other bytes, signed as they should be. */
export function rewrite(run: Run, delivery: DeliveryRecord, from: string | RegExp, to: string): void {
  const raw = delivery.raw.replace(from, to);
  if (raw === delivery.raw) throw new Error(`${from} is not in ${raw}`);
  const secret = queueNamed(run, readEnvelope(delivery)?.queue ?? '').signingSecret;
  delivery.raw = raw;
  delivery.signatures = [`sha256=${createHmac('sha256', secret).update(raw).digest('hex')}`];
}

export function changesOf(run: Run, jobId: string): ChangeRow[] {
  return run.changes.filter((change) => change.jobId === jobId);
}
