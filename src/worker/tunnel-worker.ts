import type { Database } from '../db/connection/database.ts';
import { readWake, WAKE_CHANNEL } from '../db/delivery/wake-ups.ts';
import type { Sender } from '../delivery/send.ts';
import type { Logger } from '../telemetry/log.ts';
import { type DispatchingOptions, startDispatching } from './dispatching.ts';

/**
 * Starts the part of a worker that delivers into the tunnels of a process of the role `api`: no maintenance, no alerts,
 * no wake-ups of graphile-worker. The rounds of the tunnels wake their queues as often as a lost notification allows.
 */
export async function startTunnelWorker(
  db: Database,
  sender: Sender,
  log: Logger,
  options: DispatchingOptions,
): Promise<{ wake(queueId: string): void; stop(): Promise<void> }> {
  const { listener, mayDeliver } = options;
  const { liveness, dispatching, drain } = await startDispatching(db, sender, log, options);
  listener.subscribe({
    channels: {
      [WAKE_CHANNEL]: (message) => {
        const { reason, queueIds } = readWake(message);
        for (const queueId of queueIds) if (mayDeliver(queueId)) dispatching.wake(queueId, reason);
      },
    },
  });
  try {
    await listener.start();
  } catch (error) {
    await drain();
    await liveness.stop();
    throw error;
  }
  log.info({ workerId: liveness.workerId }, 'worker for tunnels started');
  return {
    wake: (queueId) => dispatching.wake(queueId),
    async stop() {
      await drain();
      await liveness.stop();
      await listener.stop();
    },
  };
}
