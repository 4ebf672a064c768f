import type { BoundedCount } from '../../domain/page.ts';
import { MAX_COUNT } from '../../domain/page.ts';
import type { PayloadValue as PayloadValueShape } from '../../services/jobs/payload-suggestions.ts';
import type { JobTimelinePoint as JobTimelinePointShape } from '../../services/jobs/search.ts';
import { builder } from '../builder.ts';
import { PRICE } from '../prices.ts';
import { toTimeline } from '../timeline.ts';
import { JobFilterInput, toJobFilter } from './filter.ts';

const Count = builder.objectRef<BoundedCount>('Count').implement({
  description: 'A count that stops at a maximum.',
  fields: (t) => ({
    count: t.exposeInt('count', { description: 'How many, up to the maximum.' }),
    exact: t.exposeBoolean('exact', { description: 'False when there are more.' }),
  }),
});

const JobTimelinePoint = builder.objectRef<JobTimelinePointShape>('JobTimelinePoint').implement({
  description: 'Jobs published in a span of time, by their present status.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'Start of the span.' }),
    pending: t.exposeInt('pending', { description: 'Pending now.' }),
    processing: t.exposeInt('processing', { description: 'Being delivered now.' }),
    awaitingAck: t.exposeInt('awaitingAck', { description: 'Awaiting a report now.' }),
    completed: t.exposeInt('completed', { description: 'Completed by now.' }),
    dead: t.exposeInt('dead', { description: 'Dead by now.' }),
  }),
});

const PayloadSuggestion = builder.objectRef<PayloadValueShape>('PayloadSuggestion').implement({
  description: 'A path or a value that occurs in recent payloads.',
  fields: (t) => ({
    value: t.exposeString('value', { description: 'The path, or the value as JSON text.' }),
    count: t.exposeInt('count', { description: 'In how many of the payloads that were looked at.' }),
  }),
});

builder.queryFields((t) => ({
  count: t.field({
    type: Count,
    complexity: ({ filter }) => (filter == null ? PRICE.total : PRICE.search),
    description: 'How many jobs match, exact up to a maximum.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
      max: t.arg.int({ defaultValue: MAX_COUNT, required: true, description: 'Where counting stops; 1 to 10 000.' }),
    },
    resolve: (_root, { filter, max }, { services, account }) => services.jobs.count(account, toJobFilter(filter), max),
  }),
  jobTimeline: t.field({
    type: [JobTimelinePoint],
    complexity: { field: PRICE.jobTimeline, multiplier: 1 },
    description: 'Published jobs over time by their present status; the last day by default.',
    args: {
      filter: t.arg({ type: JobFilterInput, description: 'Which ones.' }),
      from: t.arg({ type: 'DateTime', description: 'A day before `to` when left out.' }),
      to: t.arg({ type: 'DateTime', description: 'Now when left out.' }),
      bucketSeconds: t.arg.int({ defaultValue: 300, required: true, description: 'A multiple of 300.' }),
    },
    resolve: async (_root, { filter, ...times }, { services, account, loaders }) =>
      services.jobs.timeline(account, toJobFilter(filter), toTimeline(times, (await loaders.server()).now)),
  }),
  payloadPaths: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Paths that occur in recent payloads, most frequent first: for suggestions in a filter.',
    args: {
      queueId: t.arg.id({ description: 'Of this queue; of all queues when left out.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'How the path begins.' }),
      first: t.arg.int({ defaultValue: 20, required: true, description: 'So many; at most 100.' }),
    },
    resolve: (_root, { queueId, prefix, first }, { services, account }) =>
      services.jobs.payloadPaths(account, queueId ?? null, prefix, Math.min(Math.max(first, 0), 100)),
  }),
  payloadValues: t.field({
    type: [PayloadSuggestion],
    complexity: { field: PRICE.payloadSuggestions, multiplier: 1 },
    description: 'Values that occur at a path of recent payloads, most frequent first.',
    args: {
      queueId: t.arg.id({ description: 'Of this queue; of all queues when left out.' }),
      path: t.arg.string({ required: true, description: 'Where to look.' }),
      prefix: t.arg.string({ defaultValue: '', required: true, description: 'How the value begins.' }),
      first: t.arg.int({ defaultValue: 20, required: true, description: 'So many; at most 100.' }),
    },
    resolve: (_root, { queueId, path, prefix, first }, { services, account }) =>
      services.jobs.payloadValues(account, queueId ?? null, path, prefix, Math.min(Math.max(first, 0), 100)),
  }),
}));
