import type { GraphQLResolveInfo } from 'graphql';
import { breakerOpenSince } from '../../domain/breaker.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { JobRow, QueueRow } from '../loaders.ts';
import { Job } from '../refs.ts';
import { Selection } from '../selection.ts';

/** The hold of a queue, and its breaker, which may be the cause of it. */

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

export const QueueBreaker = builder.objectRef<QueueRow>('QueueBreaker').implement({
  description:
    'The breaker of a queue. It opens when answers of the webhook fail as its limits state: the queue is held, and one job at a time probes the webhook, after 10 s and then at intervals that double up to 5 min. A failed probe uses up no attempt. It closes when the webhook answers 2xx. When the webhook, its secret or the breaker is changed, the next probe is due at once.',
  fields: (t) => ({
    failures: t.exposeInt('breakerFailures', {
      nullable: true,
      description: 'Number of failed answers in a row that opens it; null if it does not open by their number.',
    }),
    seconds: t.exposeInt('breakerSeconds', {
      nullable: true,
      description:
        'Time in seconds in which all answers have failed, at least two, that opens it; null if it does not open by time.',
    }),
    failedInRow: t.exposeInt('breakerFailed', { description: 'Number of answers in a row that have failed.' }),
    failedSince: t.expose('breakerFailedSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the first of these answers; null if the last answer succeeded.',
    }),
    openedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Time at which it opened; null while it is closed.',
      resolve: breakerOpenSince,
    }),
    failedProbes: t.int({
      description:
        'Number of probes that have failed since it opened, or since the webhook or its signature was changed; 0 while it is closed.',
      resolve: (queue) => (breakerOpenSince(queue) === null ? 0 : queue.breakerProbes),
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
