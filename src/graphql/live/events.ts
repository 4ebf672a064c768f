import { builder } from '../builder.ts';
import { BulkAction } from '../bulk/types.ts';
import type { JobRow, QueueRow } from '../loaders.ts';
import { Job, Queue } from '../refs.ts';
import { type AccountEvent, AuditLogChanged, DeadLettersAdded, InstancesChanged } from './account-events.ts';
import { MAX_EACH } from './queues-now.ts';

export interface JobsUpdatedShape {
  jobs: JobRow[];
  more: number;
}
interface QueueStatsShape {
  queues: QueueRow[];
}
interface ActionShape {
  actionId: string;
}

export const JobsUpdated = builder.objectRef<JobsUpdatedShape>('JobsUpdated').implement({
  description: 'Jobs that changed since the last event, in their present state.',
  fields: (t) => ({
    jobs: t.field({
      type: [Job],
      complexity: { field: 1, multiplier: MAX_EACH },
      description: 'The changed jobs; of a busy queue only those that changed last.',
      resolve: ({ jobs }) => jobs,
    }),
    more: t.exposeInt('more', { description: 'Number of changed jobs that this event does not contain.' }),
  }),
});

export const QueueStats = builder.objectRef<QueueStatsShape>('QueueStats').implement({
  description: 'Queues in their present state.',
  fields: (t) => ({
    queues: t.field({
      type: [Queue],
      complexity: { field: 1, multiplier: MAX_EACH },
      description: 'The queues.',
      resolve: ({ queues }) => queues,
    }),
  }),
});

export const BulkActionProgress = builder.objectRef<ActionShape>('BulkActionProgress').implement({
  description: 'A bulk action in its present state.',
  fields: (t) => ({
    action: t.prismaField({
      type: BulkAction,
      nullable: true,
      description: 'The bulk action; null if it has been removed.',
      resolve: (query, { actionId: id }, _args, { prisma, account }) =>
        prisma.bulkAction.findFirst({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

export type LiveEventShape = JobsUpdatedShape | QueueStatsShape | ActionShape | AccountEvent;

export const LiveEvent = builder.unionType('LiveEvent', {
  description: 'A change of a watched object.',
  types: [JobsUpdated, QueueStats, BulkActionProgress, DeadLettersAdded, AuditLogChanged, InstancesChanged],
  resolveType: (event: LiveEventShape) => {
    if ('actionId' in event) return BulkActionProgress;
    if ('deadLettersOf' in event) return DeadLettersAdded;
    if ('auditLog' in event) return AuditLogChanged;
    if ('instances' in event) return InstancesChanged;
    return 'queues' in event ? QueueStats : JobsUpdated;
  },
});
