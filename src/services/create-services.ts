import { createAuthenticate } from './authenticate.ts';
import type { Context } from './context.ts';
import type { Services } from './index.ts';
import { createListJobs } from './list-jobs.ts';
import { createManageQueues } from './manage-queues.ts';
import { createPublishJob } from './publish-job.ts';
import { createReplay } from './replay.ts';
import { createReportOutcome } from './report-outcome.ts';

/** All use cases on one context: what the shells call. */
export function createServices(context: Context): Services {
  const lists = createListJobs(context);
  return {
    authenticate: createAuthenticate(context),
    publishJob: createPublishJob(context),
    ...lists,
    ...createManageQueues(context),
    ...createReplay(context),
    ...createReportOutcome(context, lists.getJob),
  };
}
