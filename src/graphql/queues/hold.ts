import type { GraphQLResolveInfo } from 'graphql';
import { breakerOpenSince } from '../../domain/breaker.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow, QueueRow } from '../loaders.ts';
import { Job } from '../refs.ts';
import { Selection } from '../selection.ts';

/** The hold of a queue. */

export const QueueHold = builder.objectRef<QueueRow & { holdUntil: Date }>('QueueHold').implement({
  description:
    'A hold of a whole queue, caused by a defer of queue scope or by its breaker. No job of the queue is delivered during it.',
  fields: (t) => ({
    until: t.expose('holdUntil', {
      type: 'DateTime',
      description: 'End of the hold. After it, one job is released as a probe.',
    }),
    since: t.expose('holdSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Start of the hold. A hold that is extended keeps its start. Null if the start was not recorded.',
    }),
    reason: t.exposeString('holdReason', {
      nullable: true,
      description:
        'Reason that the receiver gave for the hold, or the answer that opened the breaker; null if there is none.',
    }),
    byBreaker: t.boolean({
      description:
        'Whether the queue’s breaker is open and holds it: the end of the hold is the time of its next probe.',
      resolve: (queue) => breakerOpenSince(queue) !== null,
    }),
    askedBy: t.field({
      type: Job,
      nullable: true,
      description: 'The job whose defer or answer caused the hold; null if that job has been removed.',
      resolve: (queue, _args, context, info) => jobOfHold(queue, 'askedBy', context, info),
    }),
    probe: t.field({
      type: Job,
      nullable: true,
      description:
        'The job that is now delivered as a probe, to find out whether the queue may resume; null if no probe is in flight.',
      resolve: (queue, _args, context, info) => jobOfHold(queue, 'probe', context, info),
    }),
  }),
});

/** The id of the job alone is read with the state of the queue, which most clients select as well. */
async function jobOfHold(
  { id: queueId, accountId, holdJobId, probeJobId }: QueueRow,
  which: 'askedBy' | 'probe',
  { loaders }: GraphQLContext,
  info: GraphQLResolveInfo,
): Promise<JobRow | null> {
  const jobId = which === 'askedBy' ? holdJobId : probeJobId;
  if (jobId === null) return null;
  const jobs = Selection.of(info).hasOnly('id') ? await loaders.holdJobs.load(queueId) : null;
  if (jobs === null) return loaders.job.load(jobId);
  const id = jobs[which];
  // No other field is selected.
  return id === null ? null : ({ id, accountId } as JobRow);
}
