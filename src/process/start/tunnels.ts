import { Listener } from '../../db/connection/notifications.ts';
import type { Sender } from '../../delivery/send.ts';
import { Tunnels } from '../../delivery/tunnel/tunnels.ts';
import type { WorkerOptions } from '../../worker/index.ts';
import type { Foundations } from './foundations.ts';

/** Makes the tunnels of a process. One of the role `api` gets a worker for them with its first tunnel. */
export function createTunnels(
  { config, log, database: { db, url }, started }: Foundations,
  { listener, changes, tracing }: Pick<WorkerOptions, 'listener' | 'changes' | 'tracing'>,
  openSender: () => Sender,
): Tunnels {
  let sender: Sender | null = null;
  const startWorker = async () => {
    sender ??= openSender();
    const { startTunnelWorker } = await import('../../worker/tunnel-worker.ts');
    return startTunnelWorker(db, tunnels.wrap(sender), log, {
      databaseUrl: url,
      listener: new Listener({ url, log, origin: db.origin }),
      changes,
      tracing,
      capacity: config.workerCapacity,
      link: null,
      webhookTimeoutMs: config.webhookTimeoutMs,
      periods: { retentionMs: config.jobRetentionMs, lifetimeMs: config.jobLifetimeMs },
      mayDeliver: (queueId) => tunnels.mayDeliver(queueId),
      isTunnelled: (queueId) => tunnels.takes(queueId),
    });
  };
  const tunnels = new Tunnels({
    db,
    listener,
    log,
    startWorker: config.role === 'api' ? startWorker : null,
    timeoutMs: config.webhookTimeoutMs,
    signatureHeader: config.signatureHeader,
    reportUrl: config.reportUrl,
  });
  started.add(() => tunnels.stop());
  return tunnels;
}
