import { builder } from '../builder.ts';
import { searchPrice } from '../prices.ts';
import { Job } from '../refs.ts';
import { JobFilterInput, JobOrderInput, toJobFilter, toOrder } from './filter.ts';
import { JobConnection, jobPage } from './page.ts';
import { visibleJob } from './visible.ts';

builder.queryFields((t) => ({
  job: t.field({
    type: Job,
    nullable: true,
    description: 'A job that is not past retention; also one whose queue has been deleted.',
    args: { id: t.arg.id({ required: true, description: 'Its id.' }) },
    resolve: (_root, { id }, context) => visibleJob(context, id),
  }),
  jobs: t.connection(
    {
      type: Job,
      complexity: searchPrice,
      description: 'Jobs of all live queues, newest first unless asked otherwise.',
      args: {
        filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
        orderBy: t.arg({ type: JobOrderInput, description: 'In which order.' }),
      },
      resolve: (_root, args, context) => jobPage(context, toJobFilter(args.filter), toOrder(args.orderBy), args),
    },
    JobConnection,
  ),
}));
