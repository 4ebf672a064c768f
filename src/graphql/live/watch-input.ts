import { JobferryError } from '../../domain/errors.ts';
import type { Watch } from '../../live/live.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import { MAX_EACH } from './queues-now.ts';

/** Ids of each kind. */
const MAX_IDS = 100;

export const WatchInput = builder.inputType('WatchInput', {
  description: 'The objects to watch, at most 100 of each kind. Ids of other accounts are ignored.',
  fields: (t) => ({
    queueIds: t.idList({ description: 'Ids of queues. The jobs of these queues are watched too.' }),
    allQueues: t.boolean({
      description:
        'True: all queues of the account, also those that are created later, without their jobs. An event has at most 100 queues.',
    }),
    jobIds: t.idList({ description: 'Ids of jobs.' }),
    actionIds: t.idList({ description: 'Ids of bulk actions.' }),
    errorGroups: t.boolean({
      description:
        'True: which queues have new dead letters, so that error groups have changed. Within about two seconds, and not at the start.',
    }),
    auditLog: t.boolean({
      description: 'True: new entries of the audit log, within about two seconds. The newest are sent at the start.',
    }),
    instances: t.boolean({
      description:
        'True: the processes when one has started or ended, or its load has changed, within about two seconds. For accounts that see no processes there are no such events.',
    }),
  }),
});

/** Maximum number of objects in one event. */
export function mostObjects(watch: typeof WatchInput.$inferInput | null | undefined): number {
  const { queueIds, jobIds, allQueues, errorGroups, auditLog, instances } = watch ?? {};
  const hasLists = [allQueues, errorGroups, auditLog, instances].includes(true);
  return hasLists ? MAX_EACH : Math.max(1, queueIds?.length ?? 0, jobIds?.length ?? 0);
}

export function watchOf({ account }: GraphQLContext, watch: Partial<Watch>): Watch {
  return { accountId: account.id, queueIds: [], jobIds: [], actionIds: [], ...watch };
}

/** Keeps only ids of the account. Ids of other accounts are ignored, the same as unknown ones. */
export async function ownWatch(context: GraphQLContext, input: typeof WatchInput.$inferInput): Promise<Watch> {
  const { loaders, prisma, account } = context;
  const requested = { queues: input.queueIds ?? [], jobs: input.jobIds ?? [], actions: input.actionIds ?? [] };
  for (const ids of Object.values(requested)) {
    if (ids.length > MAX_IDS)
      throw new JobferryError('invalid_request', `watch at most ${MAX_IDS} objects of each kind`);
  }
  const [queues, jobs, actions] = await Promise.all([
    loaders.queue.loadMany(requested.queues),
    loaders.job.loadMany(requested.jobs),
    prisma.bulkAction.findMany({
      where: { id: { in: requested.actions }, accountId: account.id },
      select: { id: true },
    }),
  ]);
  return watchOf(context, {
    queueIds: idsOf(queues),
    jobIds: idsOf(jobs),
    actionIds: actions.map(({ id }) => id),
    allQueues: input.allQueues === true,
    lists: [
      ...(input.errorGroups === true ? (['deadLetters'] as const) : []),
      ...(input.auditLog === true ? (['auditLog'] as const) : []),
      ...(input.instances === true ? (['instances'] as const) : []),
    ],
  });
}

export function idsOf(rows: ({ id: string } | null | Error)[]): string[] {
  return rows.flatMap((row) => (row === null || row instanceof Error ? [] : [row.id]));
}
