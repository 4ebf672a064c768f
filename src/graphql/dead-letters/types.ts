import type { DeadReason as Reason } from '../../domain/job.ts';
import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import { MAX_COUNT } from '../../domain/page.ts';
import type { ErrorGroup as ErrorGroupShape } from '../../services/dead-letters/search.ts';
import { builder } from '../builder.ts';
import { counted, pageOf, placed, TOTAL_COUNT, TOTAL_COUNT_EXACT } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { DeadReason } from '../enums.ts';
import { visibleJob } from '../jobs/visible.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';

DeadLetter.implement({
  description: 'A job that died on a queue with a dead-letter queue, until it is replayed or past retention.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Used to replay it; not the id of the job.' }),
    job: t.field({
      type: Job,
      nullable: true,
      description: 'The job that died.',
      resolve: (letter, _args, { loaders }) => loaders.job.load(letter.jobId),
    }),
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'Its queue.',
      resolve: (letter, _args, { loaders }) => loaders.queue.load(letter.queueId),
    }),
    reason: t.field({ type: DeadReason, description: 'Why it died.', resolve: ({ reason }) => reason as Reason }),
    error: t.exposeString('error', { nullable: true, description: 'What went wrong last.' }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'The webhook’s last answer; null when there was none.',
    }),
    fingerprint: t.exposeString('fingerprint', { description: 'Of its error group.' }),
    deadAt: t.expose('deadAt', { type: 'DateTime', description: 'When it died.' }),
    replayedAt: t.expose('replayedAt', { type: 'DateTime', nullable: true, description: 'When it was replayed.' }),
    replayedJob: t.field({
      type: Job,
      nullable: true,
      description: 'The job that repeats it.',
      resolve: (letter, _args, context) =>
        letter.replayedJobId === null ? null : visibleJob(context, letter.replayedJobId),
    }),
  }),
});

export const ErrorGroup = builder.objectRef<ErrorGroupShape>('ErrorGroup').implement({
  description: 'Dead letters that died of the same: reason, status code and error without ids and numbers.',
  fields: (t) => ({
    fingerprint: t.exposeString('fingerprint', { description: 'For the filter of `replayDeadLetters`.' }),
    reason: t.field({ type: DeadReason, description: 'Why they died.', resolve: ({ reason }) => reason }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', { nullable: true, description: 'The webhook’s last answer.' }),
    error: t.exposeString('error', { nullable: true, description: 'The error of the newest.' }),
    count: t.exposeInt('count', { description: 'How many there are.' }),
    firstSeen: t.expose('firstSeen', {
      type: 'DateTime',
      description: 'When the oldest died, also before the time that was asked for.',
    }),
    lastSeen: t.expose('lastSeen', { type: 'DateTime', description: 'When the newest died.' }),
    sample: t.field({
      type: DeadLetter,
      nullable: true,
      description: 'One of them; the newest that was not replayed, if there is one.',
      resolve: (group, _args, { loaders }) => loaders.deadLetter.load(group.sampleDeadLetterId),
    }),
  }),
});

export const DeadLetterConnection = builder.connectionObject(
  {
    type: DeadLetter,
    name: 'DeadLetterConnection',
    description: 'A page of dead letters.',
    fields: (t) => ({
      totalCount: t.int(TOTAL_COUNT),
      totalCountExact: t.boolean(TOTAL_COUNT_EXACT),
    }),
  },
  { name: 'DeadLetterEdge', description: 'A dead letter, and its cursor.' },
);

type PageArgs = Parameters<typeof pageOf>[0];

export async function deadLetterPage(context: GraphQLContext, filter: DeadLetterFilter, args: PageArgs) {
  const { account, services, loaders } = context;
  const page = await pageOf(args, async (slice) => {
    const positions = await services.deadLetters.search(account, filter, slice);
    return placed(positions, await loaders.deadLetter.loadMany(positions.map(({ id }) => id)));
  });
  return { ...page, ...counted(() => services.deadLetters.count(account, filter, MAX_COUNT)) };
}
