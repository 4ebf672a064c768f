import type { Position, Slice } from '../../domain/page.ts';
import { troubleOf } from '../../domain/trouble.ts';
import type { GraphQLContext } from '../context.ts';
import type { QueueRow } from '../loaders.ts';

/** Queues that can be ordered by trouble, which is computed for each of them. */
export const MAX_ORDERED = 500;

interface Ranked {
  position: Required<Pick<Position, 'at' | 'id'>>;
  node: QueueRow;
}

/**
 * Returns a slice of queues, those with the most trouble first. Depths and healths of all of them are read in one statement
 * each, which the fields of the page use as well.
 */
export async function byTrouble(
  { loaders }: GraphQLContext,
  queues: readonly QueueRow[],
  { after, before, limit, inverted }: Slice,
): Promise<Ranked[]> {
  const ids = queues.map(({ id }) => id);
  const [server, depths, healths] = await Promise.all([
    loaders.server(),
    loaders.depth.loadMany(ids),
    loaders.health.loadMany(ids),
  ]);
  const ranked = queues.map((node, n): Ranked => {
    const [depth, health] = [depths[n] ?? null, healths[n] ?? null];
    if (depth instanceof Error) throw depth;
    if (health instanceof Error) throw health;
    const oldest = depth?.oldestDueAt ?? null;
    const at = troubleOf({
      paused: node.pausedAt !== null,
      held: node.holdUntil !== null && (node.holdUntil > server.now || node.probeJobId !== null),
      oldestDueMs: oldest === null ? null : server.now.getTime() - oldest.getTime(),
      warnings: health?.warnings.map(({ warning }) => warning) ?? [],
    });
    return { position: { id: node.id, at }, node };
  });
  const rest = ranked
    .sort((one, other) => compare(one.position, other.position))
    .filter(({ position }) => after === undefined || compare(position, after) > 0)
    .filter(({ position }) => before === undefined || compare(position, before) < 0);
  return (inverted ? rest.reverse() : rest).slice(0, limit);
}

/** More trouble comes first; of queues with equal trouble the older one. */
function compare(one: Position, other: Position): number {
  const difference = (other.at ?? 0) - (one.at ?? 0);
  if (difference !== 0) return difference;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}
