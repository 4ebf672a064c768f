import type { BoundedCount } from '../../domain/page.ts';
import { MAX_COUNT } from '../../domain/page.ts';
import type { PayloadValue as PayloadValueShape } from '../../services/jobs/payload-suggestions.ts';
import type { JobTimelinePoint as JobTimelinePointShape } from '../../services/jobs/search.ts';
import { builder } from '../builder.ts';
import { PRICE } from '../prices.ts';
import { inTurn, timelineArgs } from '../timeline.ts';
import { toTimeline } from '../timeline-range.ts';
import { JobFilterInput, jobFilterOf } from './filter.ts';
import { hintOf } from './hint.ts';

interface HintedCount extends BoundedCount {
  hint: () => Promise<string | null>;
}

const Count = builder.objectRef<HintedCount>('Count').implement({
  description: 'A count that stops at a maximum.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'The number, up to the maximum.' }),
    exact: t.exposeBoolean('exact', { description: 'False if there are more than the maximum.' }),
    hint: t.string({
      complexity: PRICE.payloadSuggestions,
      nullable: true,
      description: 'Why the filter may match nothing, as in `JobConnection`. Null if jobs match.',
      resolve: ({ count, hint }) => (count === 0 ? hint() : null),
    }),
  }),
});

const JobTimelinePoint = builder.objectRef<JobTimelinePointShape>('JobTimelinePoint').implement({
  description: 'Number of jobs published in a time span, by their present status and state.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the time span.' }),
    pending: t.exposeInt('pending', { description: 'Jobs that are now pending.' }),
    due: t.exposeInt('due', { description: 'Pending jobs that are now due.' }),
    scheduled: t.exposeInt('scheduled', { description: 'Pending jobs that now wait for their first delivery.' }),
    retrying: t.exposeInt('retrying', { description: 'Pending jobs that are now in back-off.' }),
    held: t.exposeInt('held', { description: 'Pending jobs that now wait for the end of a hold of their own.' }),
    processing: t.exposeInt('processing', { description: 'Jobs that are now being delivered.' }),
    awaitingAck: t.exposeInt('awaitingAck', { description: 'Jobs that are now awaiting a report.' }),
    completed: t.exposeInt('completed', { description: 'Jobs that are now completed.' }),
    dead: t.exposeInt('dead', { description: 'Jobs that are now dead.' }),
  }),
});

const PayloadSuggestion = builder.objectRef<PayloadValueShape>('PayloadSuggestion').implement({
  description: 'A path or a value that occurs in recent payloads.',
  fields: (t) => ({
    value: t.exposeString('value', { description: 'The path, or the value as JSON text.' }),
    count: t.exposeInt('count', { description: 'Number of sampled payloads that contain it.' }),
    isNumber: t.exposeBoolean('isNumber', {
      nullable: true,
      description: 'Whether all values of the path in the sample are numbers; null if this is a value.',
    }),
  }),
});

builder.queryFields((t) => ({
  count: t.field({
    type: Count,
    complexity: ({ filter }) => (filter == null ? PRICE.total : PRICE.search),
    description: 'Number of jobs that match, exact up to a maximum.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'The jobs to count; all by default.' }),
      max: t.arg.int({
        defaultValue: MAX_COUNT,
        required: true,
        description: 'The maximum at which counting stops; 1 to 10 000.',
      }),
    },
    resolve: async (_root, { filter: input, max }, context) => {
      const filter = await jobFilterOf(context, input);
      const counted = await context.services.jobs.count(context.account, filter, max);
      return { ...counted, hint: () => hintOf(context, { ...filter, queueTags: input?.queueTags }) };
    },
  }),
  jobTimeline: t.field({
    type: [JobTimelinePoint],
    complexity: { field: PRICE.jobTimeline, multiplier: 1 },
    description:
      'Number of jobs published in each time span, grouped by their present status; the last day by default, and not before the start of retention.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'The jobs to include; all by default.' }),
      ...timelineArgs,
    },
    resolve: async (_root, { filter, ...times }, context) => {
      const { now } = await context.loaders.server();
      const range = toTimeline(times, now);
      const jobs = await jobFilterOf(context, filter);
      return inTurn(context, await context.services.jobs.timeline(context.account, jobs, range));
    },
  }),
  payloadPaths: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Paths that occur in recent payloads, most frequent first; for suggestions in a filter.',
    args: {
      queueId: t.arg.id({ description: 'Id of the queue whose payloads are sampled; all queues by default.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'Start of the path.' }),
      first: t.arg.int({
        defaultValue: 20,
        required: true,
        description: 'Maximum number of paths; at most 100; a larger number counts as 100.',
      }),
    },
    resolve: (_root, { queueId, prefix, first }, { services, account }) =>
      services.jobs.payloadPaths(account, queueId ?? null, prefix, Math.min(Math.max(first, 0), 100)),
  }),
  payloadValues: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Values that occur at a path in recent payloads, most frequent first; for suggestions in a filter.',
    args: {
      queueId: t.arg.id({ description: 'Id of the queue whose payloads are sampled; all queues by default.' }),
      path: t.arg.string({ required: true, description: 'Path in the payload, such as `customer.id`.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'Start of the value.' }),
      first: t.arg.int({
        defaultValue: 20,
        required: true,
        description: 'Maximum number of values; at most 100; a larger number counts as 100.',
      }),
    },
    resolve: (_root, { queueId, path, prefix, first }, { services, account }) =>
      services.jobs.payloadValues(account, queueId ?? null, path, prefix, Math.min(Math.max(first, 0), 100)),
  }),
}));
