import { type OpenTunnel, tunnelsOfQueue } from '../../db/tunnels.ts';
import type { Copies } from '../../delivery/tunnel/copies.ts';
import type { Tunnel, TunnelAnswer } from '../../delivery/tunnel/tunnel.ts';
import type { Tunnels } from '../../delivery/tunnel/tunnels.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { Context } from '../context.ts';
import { liveQueue } from './manage.ts';

export type { OpenTunnel } from '../../db/tunnels.ts';

/** Tunnels: the deliveries of a queue go to a client that listens (docs/decisions/0051). GraphQL only. */
export function createTunnelChanges(context: Context) {
  const { db } = context;
  const tunnels = (): Tunnels => {
    if (context.tunnels == null) throw new Error('this process has no tunnels');
    return context.tunnels;
  };

  return {
    /**
     * Opens a tunnel: deliveries that begin from now on go through it.
     * @throws JobferryError `not_found`, `forbidden` (suspended account), `conflict` (a queue for production that is
     * not forced)
     */
    async openTunnel(account: Account, queueId: string, isForced: boolean): Promise<Tunnel> {
      assertNotSuspended(account);
      const tunnel = isId(queueId) ? await tunnels().open(authorOf(account), queueId, isForced) : null;
      if (tunnel !== null) return tunnel;
      await liveQueue(context, account, queueId);
      throw new JobferryError(
        'conflict',
        'the queue is marked as production, so its deliveries are not taken unless you force it',
      );
    },

    /** Gives back what is in flight in a tunnel whose stream is gone. A client that comes back opens another. */
    loseTunnel(tunnel: Tunnel): void {
      tunnels().lost(tunnel);
    },

    /** Returns what makes copies of the deliveries of a queue. @throws JobferryError `not_found` */
    async copiesOf(account: Account, queueId: string): Promise<Copies> {
      await liveQueue(context, account, queueId);
      return tunnels().copies(account.id, queueId);
    },

    /**
     * Takes answers of the client of a tunnel; those to deliveries that are not awaited any more change nothing.
     * @throws JobferryError `forbidden` (another actor has opened the tunnel)
     */
    async answerTunnel(account: Account, tunnelId: string, answers: readonly TunnelAnswer[]): Promise<void> {
      await tunnels().answer(authorOf(account), tunnelId, answers);
    },

    /** Ends a tunnel for good. The end of another actor's tunnel is audited. */
    async endTunnel(account: Account, tunnelId: string): Promise<void> {
      await tunnels().end(authorOf(account), tunnelId);
    },

    /** Returns the tunnels of a queue, oldest first, at most 100. */
    tunnelsOf(account: Account, queueId: string): Promise<OpenTunnel[]> {
      return tunnelsOfQueue(db.reading(account.id), account.id, queueId);
    },
  };
}
