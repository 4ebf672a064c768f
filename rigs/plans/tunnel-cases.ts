import { randomBytes } from 'node:crypto';
import * as tunnels from '../../src/db/tunnels.ts';
import { type Case, operatorOf } from './indexed-cases.ts';
import type { SeenWithOthers } from './operator-cases.ts';

/** The statements of `jobferry listen`. */
export function tunnelCases(seen: () => SeenWithOthers): Case[] {
  return [
    ['a tunnel from its opening to its end', 500, aTunnel(seen)],
    [
      'the jobs to copy',
      500,
      () => {
        const { db, fixture, q, jobId } = seen();
        return tunnels.jobsToCopy(db, { accountId: fixture.accountId, queueId: q.small.id }, [jobId]);
      },
    ],
  ];
}

function aTunnel(seen: () => SeenWithOthers): Case[2] {
  return async () => {
    const { db, fixture, q } = seen();
    const by = operatorOf(fixture);
    const tunnel = { id: randomBytes(12).toString('hex'), queueId: q.small.id, isForced: false };
    await tunnels.openTunnel(db, by, tunnel);
    await tunnels.keepTunnels(db, [{ ...tunnel, openedBy: by.actor }]);
    await tunnels.openerOfTunnel(db, by.accountId, tunnel.id);
    await tunnels.tunnelledQueues(db);
    await tunnels.tunnelsOfQueue(db, by.accountId, tunnel.queueId);
    await tunnels.endTunnel(db, by.accountId, tunnel.id);
  };
}
