import { createReplicaPrisma, onReplica } from '../../db/connection/on-replica.ts';
import { Replica } from '../../db/connection/replica.ts';
import type { ReplicaReads } from '../../graphql/replica.ts';
import type { Context } from '../../services/context.ts';
import { createStoredText } from '../../services/jobs/stored-text.ts';
import { RecentChanges } from '../../services/server/recent-changes.ts';
import { createServices } from '../../services/services.ts';
import type { Foundations } from './foundations.ts';

/** @returns what GraphQL's queries use; null without a replica */
export function startReplica(
  { config, log, database: { db }, started }: Foundations,
  context: Context,
): (ReplicaReads & { replica: Replica }) | null {
  if (config.replica === null) return null;
  const { url, maxLagMs } = config.replica;
  const replica = new Replica({ url, db, log, maxLagMs });
  started.add(() => replica.stop());
  const readingPrisma = createReplicaPrisma(replica, context.readingPrisma);
  started.add(() => readingPrisma.close());
  const ofReplica = { ...context, db: onReplica(db, replica), readingPrisma };
  const sources = { services: createServices(ofReplica), readingPrisma, stored: createStoredText(ofReplica.db) };
  const changes = new RecentChanges(maxLagMs);
  return { replica, sources, changes, rememberSeconds: Math.ceil(maxLagMs / 1000) };
}
