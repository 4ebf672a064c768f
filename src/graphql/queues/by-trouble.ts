import { holdOf } from '../../domain/breaker.ts';
import type { Position, Slice } from '../../domain/page.ts';
import { conditionOf, costOf, troubleOf } from '../../domain/queue-condition.ts';
import type { GraphQLContext } from '../context.ts';
import type { QueueRow } from '../loaders.ts';

interface Ranked {
  position: { id: string; at: number };
  node: QueueRow;
}

/** A part of the queues in the order of their ids, both bounds exclusive. */
export interface OtherQueues {
  gt: string;
  lt?: string;
  limit: number;
  inverted: boolean;
}

/** Reads live queues: those with the ids, and others than these. */
interface Reading {
  these(ids: readonly string[]): Promise<QueueRow[]>;
  others(ids: readonly string[], part: OtherQueues): Promise<QueueRow[]>;
}

/**
 * Returns a slice of all queues: those that need a hand, the one with the most trouble first, and then all others,
 * oldest first.
 * @param troubled ids of the queues that may need a hand
 */
export async function byTrouble(
  context: GraphQLContext,
  troubled: readonly string[],
  { these, others }: Reading,
  { after, before, limit, inverted }: Slice,
): Promise<Ranked[]> {
  const ranked = (await rank(context, await these(troubled))).filter(({ position }) => position.at > 0);
  const first = ranked
    .filter(({ position }) => after === undefined || compare(position, after) > 0)
    .filter(({ position }) => before === undefined || compare(position, before) < 0);
  if (!inverted && first.length >= limit) return first.slice(0, limit);
  const isWithin = before === undefined || before.at === 0;
  const range = { gt: after?.at === 0 ? after.id : '', ...(before === undefined ? {} : { lt: before.id }) };
  const ids = ranked.map(({ node }) => node.id);
  const rest = isWithin ? await others(ids, { ...range, limit, inverted }) : [];
  const placed = rest.map((node): Ranked => ({ position: { id: node.id, at: 0 }, node }));
  return (inverted ? [...placed, ...first.reverse()] : [...first, ...placed]).slice(0, limit);
}

/** Depths and healths of all of them are read in one statement each, which the fields of the page use as well. */
async function rank({ loaders }: GraphQLContext, queues: readonly QueueRow[]): Promise<Ranked[]> {
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
    const oldestDueMs = oldest === null ? null : server.now.getTime() - oldest.getTime();
    const condition = conditionOf({
      isDeleted: false,
      isPaused: node.pausedAt !== null,
      hold: holdOf(node, server.now),
      warnings: health?.warnings.map(({ warning }) => warning) ?? [],
      oldestDueMs,
      flow: null,
    });
    const at = troubleOf(condition, costOf({ health, depth }), oldestDueMs);
    return { position: { id: node.id, at }, node };
  });
  return ranked.sort((one, other) => compare(one.position, other.position));
}

/** More trouble comes first; of queues with equal trouble the older one. */
function compare(one: Position, other: Position): number {
  const difference = (other.at ?? 0) - (one.at ?? 0);
  if (difference !== 0) return difference;
  return one.id < other.id ? -1 : one.id > other.id ? 1 : 0;
}
