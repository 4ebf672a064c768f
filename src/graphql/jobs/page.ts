import type { JobFilter, JobOrder } from '../../domain/job-filter.ts';
import { MAX_COUNT, type Position, type Slice } from '../../domain/page.ts';
import { builder } from '../builder.ts';
import { counted, HINT, pageOf, placed, TOTAL_COUNT, TOTAL_COUNT_EXACT } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { Job } from '../refs.ts';

export const JobConnection = builder.connectionObject(
  {
    type: Job,
    name: 'JobConnection',
    description: 'A page of jobs.',
    fields: (t) => ({
      totalCount: t.int(TOTAL_COUNT),
      totalCountExact: t.boolean(TOTAL_COUNT_EXACT),
      hint: t.string(HINT),
    }),
  },
  { name: 'JobEdge', description: 'A job, and its cursor.' },
);

type PageArgs = Parameters<typeof pageOf>[0];

/** @param search returns the positions of a slice; by default it queries for this filter alone */
export async function jobPage(
  context: GraphQLContext,
  filter: JobFilter,
  order: JobOrder,
  args: PageArgs,
  search: (slice: Slice) => Promise<Position[]> = (slice) =>
    context.services.jobs.search(context.account, filter, order, slice),
) {
  const { account, services, loaders } = context;
  const page = await pageOf(args, async (slice) => {
    const positions = await search(slice);
    return placed(positions, await loaders.job.loadMany(positions.map(({ id }) => id)));
  });
  return {
    ...page,
    ...counted(() => services.jobs.count(account, filter, MAX_COUNT)),
    hint: () => services.jobs.payloadHint(account, filter),
  };
}
