import type { GraphQLResolveInfo } from 'graphql';
import type { DeadReason as Reason } from '../../domain/job.ts';
import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import { MAX_COUNT } from '../../domain/page.ts';
import { type ErrorGroup as ErrorGroupShape, MAX_QUEUES_OF_GROUP } from '../../services/dead-letters/search.ts';
import { AuditEntry } from '../accounts/audit-log.ts';
import { builder } from '../builder.ts';
import { connectionOf, inPlace, pageOf } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { DeadReason } from '../enums.ts';
import { Attempt } from '../jobs/attempt.ts';
import { hintOf } from '../jobs/hint.ts';
import type { PageField } from '../jobs/page.ts';
import { visibleJob } from '../jobs/visible.ts';
import type { JobRow } from '../loaders.ts';
import { DeadLetter, Job, Queue } from '../refs.ts';
import { Selection } from '../selection.ts';
import { Dismissal } from './dismissals.ts';

builder.prismaObject('DeadLetter', {
  description:
    'The record of a job that died on a queue with `dlqEnabled`. It can be replayed once, and is kept until it is past retention.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the dead letter, used to replay it. It is not the id of the job.' }),
    job: t.field({
      type: Job,
      nullable: true,
      description: 'The job that died; null if it has been removed.',
      resolve: (letter, _args, { loaders, account }, info) => {
        // The job is there as long as its dead letter is, so its id alone needs no row.
        const selection = Selection.of(info);
        if (selection.hasOnly('id')) return { id: letter.jobId, accountId: account.id } as JobRow;
        loaders.selectOfJobs(selection);
        return loaders.job.load(letter.jobId);
      },
    }),
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'The queue of the job; null if it has been removed.',
      resolve: (letter, _args, { loaders }) => loaders.queue.load(letter.queueId),
    }),
    lastAttempt: t.field({
      type: Attempt,
      nullable: true,
      description: 'The last attempt of the job; null if there was none.',
      resolve: (letter, _args, { loaders }) => loaders.lastAttempt.load(letter.jobId),
    }),
    reason: t.field({
      type: DeadReason,
      description: 'Reason why the job died.',
      resolve: ({ reason }) => reason as Reason,
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'The last error of the job; null if there was no error.',
    }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'Status code of the webhook’s answer to the last attempt; null if the webhook did not answer.',
    }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Fingerprint of the error group to which the dead letter belongs.',
    }),
    deadAt: t.expose('deadAt', { type: 'DateTime', description: 'Time at which the job died.' }),
    replayedAt: t.expose('replayedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the replay; null if the dead letter was not replayed.',
    }),
    replayedJob: t.field({
      type: Job,
      nullable: true,
      description: 'The job that the replay created; null if there was no replay, or the job is past retention.',
      resolve: (letter, _args, context) =>
        letter.replayedJobId === null ? null : visibleJob(context, letter.replayedJobId),
    }),
    lastReplay: t.field({
      type: Job,
      nullable: true,
      description:
        'The last job of the chain of replays: the job that the replay created, or, if that job died and was replayed, the job that its own replay created, and so on. Null if `replayedJob` is null.',
      resolve: ({ replayedJobId }, _args, context) => lastReplayOf(context, replayedJobId),
    }),
  }),
});

/** A longer chain of replays is followed up to here: it is one statement for each of its links. */
const MAX_REPLAYS = 20;

async function lastReplayOf(context: GraphQLContext, replayedJobId: string | null): Promise<JobRow | null> {
  let last: JobRow | null = null;
  let next = replayedJobId;
  for (let n = 0; next !== null && n < MAX_REPLAYS; n += 1) {
    const replay: JobRow | null = await visibleJob(context, next);
    if (replay === null) break;
    last = replay;
    const letter = replay.status === 'dead' ? await context.loaders.deadLetterOfJob.load(replay.id) : null;
    next = letter?.replayedJobId ?? null;
  }
  return last;
}

const ErrorGroupQueue = builder.objectRef<{ id: string; count: number }>('ErrorGroupQueue').implement({
  description: 'The part of an error group that belongs to one queue.',
  fields: (t) => ({
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'The queue; null if it has been removed.',
      resolve: ({ id }, _args, { loaders }) => loaders.queue.load(id),
    }),
    count: t.exposeInt('count', { description: 'Number of dead letters of the queue in the group.' }),
  }),
});

export const ErrorGroup = builder.objectRef<ErrorGroupShape>('ErrorGroup').implement({
  description: 'Dead letters with the same cause: reason, status code, and error without ids and numbers.',
  fields: (t) => ({
    queue: t.field({
      type: Queue,
      nullable: true,
      description: 'The queue of the group; null if the group has several queues, or the queue has been removed.',
      resolve: ({ queues, queueCount }, _args, { loaders }) =>
        queues[0] === undefined || queueCount > 1 ? null : loaders.queue.load(queues[0].id),
    }),
    queues: t.field({
      type: [ErrorGroupQueue],
      complexity: ({ first }) => ({ field: 1, multiplier: Math.min(Math.max(first ?? 3, 1), MAX_QUEUES_OF_GROUP) }),
      description: 'The queues of the group, the one with the most dead letters first.',
      args: {
        first: t.arg.int({ defaultValue: 3, required: true, description: 'Maximum number of queues; at most 100.' }),
      },
      resolve: ({ queues }, { first }) => queues.slice(0, Math.max(first, 0)),
    }),
    queueCount: t.exposeInt('queueCount', { description: 'Number of all queues of the group.' }),
    answer: t.exposeString('answer', {
      nullable: true,
      description:
        'First line of the webhook’s last answer in lower case, with ids and numbers as `<n>`; null if there was no such answer or it is stored encrypted, and always with `by: ERROR`.',
    }),
    fingerprint: t.exposeString('fingerprint', {
      description: 'Fingerprint of the group, for `fingerprints` in a filter of dead letters.',
    }),
    reason: t.field({ type: DeadReason, description: 'Reason why the jobs died.', resolve: ({ reason }) => reason }),
    webhookStatusCode: t.exposeInt('webhookStatusCode', {
      nullable: true,
      description: 'Status code of the webhook’s answer to the last attempt; null if the webhook did not answer.',
    }),
    error: t.exposeString('error', {
      nullable: true,
      description: 'Error of the newest dead letter of the group; null if it has none.',
    }),
    count: t.exposeInt('count', { description: 'Number of dead letters in the group.' }),
    firstSeen: t.expose('firstSeen', {
      type: 'DateTime',
      description: 'Time at which the oldest job of the group died; it may be before the requested range.',
    }),
    lastSeen: t.expose('lastSeen', {
      type: 'DateTime',
      description: 'Time at which the newest job of the group died.',
    }),
    changeBefore: t.field({
      type: AuditEntry,
      nullable: true,
      description:
        'The newest change of settings of the queue in the hour before `firstSeen`, except changes of tags; null if there was none, or the group has several queues.',
      resolve: ({ queues, queueCount, firstSeen }, _args, { loaders }) =>
        queues[0] === undefined || queueCount > 1
          ? null
          : loaders.changeBefore.load({ targetId: queues[0].id, at: firstSeen }),
    }),
    dismissal: t.field({
      type: Dismissal,
      nullable: true,
      description:
        'The dismissal of the group; null if there is none. The group may have newer dead letters, which are not dismissed.',
      resolve: ({ fingerprint }, _args, { loaders }) => loaders.dismissal.load(fingerprint),
    }),
    sample: t.field({
      type: DeadLetter,
      nullable: true,
      description:
        'A dead letter of the group: the newest that was not replayed, or else the newest of all; null if it has been removed.',
      resolve: ({ sample }) => sample,
    }),
  }),
});

/** Whether the last attempts of the samples of error groups are selected. They are read together with the groups. */
export function hasAttempts(info: GraphQLResolveInfo): boolean {
  return Selection.of(info).below('sample').has('lastAttempt');
}

export const DeadLetterConnection = connectionOf(
  DeadLetter,
  'DeadLetter',
  { page: 'A page of dead letters.', edge: 'A dead letter, and its cursor.' },
  true,
);

export async function deadLetterPage({ context, args, info }: PageField, filter: DeadLetterFilter) {
  const { account, services, loaders } = context;
  const count = () => services.deadLetters.count(account, filter, MAX_COUNT);
  const page = await pageOf({ args, info, count }, async (slice) => {
    const rows = await services.deadLetters.search(account, filter, slice);
    for (const row of rows) loaders.deadLetter.prime(row.id, row);
    return inPlace(rows);
  });
  return { ...page, hint: () => hintOf(context, filter) };
}
