import type { GraphQLResolveInfo } from 'graphql';
import type { JobFilter, JobOrder } from '../../domain/job-filter.ts';
import { MAX_COUNT, type Position, type Slice } from '../../domain/page.ts';
import { connectionOf, pageOf, placed } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { Job } from '../refs.ts';
import { Selection } from '../selection.ts';
import { hintOf } from './hint.ts';

export const JobConnection = connectionOf(
  Job,
  'Job',
  { page: 'A page of jobs.', edge: 'A job, and its cursor.' },
  true,
);

/** A field that returns a page. */
export interface PageField {
  context: GraphQLContext;
  args: Parameters<typeof pageOf>[0]['args'];
  /** Tags whose queues are in the filter by their ids. */
  queueTags?: readonly string[] | null | undefined;
  info: GraphQLResolveInfo;
}

/** @param search returns the positions of a slice; by default it queries for this filter alone */
export async function jobPage(
  { context, args, queueTags, info }: PageField,
  filter: JobFilter,
  order: JobOrder,
  search: (slice: Slice) => Promise<Position[]> = (slice) =>
    context.services.jobs.search(context.account, filter, order, slice),
) {
  const { account, services, loaders } = context;
  const count = () => services.jobs.count(account, filter, MAX_COUNT);
  const page = await pageOf({ args, info, count }, async (slice) => {
    const positions = await search(slice);
    loaders.selectOfJobs(Selection.of(info).items);
    return placed(positions, await loaders.job.loadMany(positions.map(({ id }) => id)));
  });
  return { ...page, hint: () => hintOf(context, { ...filter, queueTags }) };
}
