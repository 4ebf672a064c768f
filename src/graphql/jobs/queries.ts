import { builder } from '../builder.ts';
import { searchPrice } from '../prices.ts';
import { Job } from '../refs.ts';
import { Selection } from '../selection.ts';
import { JobFilterInput, JobOrderInput, jobFilterOf, toOrder } from './filter.ts';
import { JobConnection, jobPage } from './page.ts';
import { visibleJob } from './visible.ts';

builder.queryFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    description: 'A job that is not past retention. Jobs of deleted queues are included. Null if there is no such job.',
    args: { id: t.arg.id({ required: true, description: 'Id of the job.' }) },
    resolve: (_root, { id }, context, info) => {
      context.loaders.selectOfJobs(Selection.of(info));
      return visibleJob(context, id);
    },
  }),
  jobs: t.connection(
    {
      type: Job,
      complexity: searchPrice,
      description: 'Jobs of all live queues; newest first by default.',
      args: {
        filter: t.arg({ type: JobFilterInput, description: 'The jobs to return; all by default.' }),
        orderBy: t.arg({ type: JobOrderInput, description: 'The order of the jobs; newest first by default.' }),
      },
      resolve: async (_root, args, context, info) =>
        jobPage(
          { context, args, queueTags: args.filter?.queueTags, info },
          await jobFilterOf(context, args.filter),
          toOrder(args.orderBy),
        ),
    },
    JobConnection,
  ),
}));
