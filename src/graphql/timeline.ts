import { Starts } from '../pacing/starts.ts';
import { builder } from './builder.ts';
import type { GraphQLContext } from './context.ts';

/**
 * The executor needs about half a millisecond for a day of points, and goes through all points of a list in one turn.
 */
const turns = new Starts({ items: 1, ms: 1 });

/**
 * Resolves with the points in a turn of the event loop that has no other list of points, from the accounts in turn. The
 * charts of one response, and of all requests that share a result, come out of the database together: one after the
 * other they would keep deliveries waiting for tenths of a second.
 */
export function inTurn<Point>({ account }: Pick<GraphQLContext, 'account'>, points: Point[]): Promise<Point[]> {
  return new Promise((resolve) => turns.add(account.id, () => resolve(points)));
}

/** Arguments of every field that returns a timeline. */
export const timelineArgs = builder.args((t) => ({
  from: t.field({ type: 'DateTime', description: 'Start of the range; a day before `to` by default.' }),
  to: t.field({ type: 'DateTime', description: 'End of the range; now by default.' }),
  bucketSeconds: t.int({
    defaultValue: 300,
    required: true,
    description: 'Length of a time span in seconds; a multiple of 300.',
  }),
}));
