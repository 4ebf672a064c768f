import type { Changes } from '../../live/live.ts';
import { AuditEntry } from '../accounts/audit-log.ts';
import { builder } from '../builder.ts';
import type { GraphQLContext } from '../context.ts';
import type { QueueRow } from '../loaders.ts';
import { Queue } from '../refs.ts';
import { Instance, MAX_INSTANCES, runningInstances } from '../server/instances.ts';
import { MAX_EACH, queuesNow } from './queues-now.ts';

/** Events about lists of an account that have new rows. */

/** Entries of the audit log in one event. */
const MAX_ENTRIES = 20;

interface DeadLettersAddedShape {
  deadLettersOf: QueueRow[];
}
interface AuditLogChangedShape {
  auditLog: true;
}
interface InstancesChangedShape {
  instances: true;
}

export const DeadLettersAdded = builder.objectRef<DeadLettersAddedShape>('DeadLettersAdded').implement({
  description: 'Jobs have died and left dead letters, so error groups have changed. A client has to query them again.',
  fields: (t) => ({
    queues: t.field({
      type: [Queue],
      complexity: { field: 1, multiplier: MAX_EACH },
      description: 'The queues with new dead letters.',
      resolve: ({ deadLettersOf }) => deadLettersOf,
    }),
  }),
});

export const AuditLogChanged = builder.objectRef<AuditLogChangedShape>('AuditLogChanged').implement({
  description: 'The audit log has new entries.',
  fields: (t) => ({
    entries: t.prismaField({
      type: [AuditEntry],
      complexity: { field: 1, multiplier: MAX_ENTRIES },
      description: `The newest entries, newest first, at most ${MAX_ENTRIES}. The client may have some of them already.`,
      resolve: (query, _event, _args, { prisma, account }) =>
        prisma.auditEntry.findMany({
          ...query,
          where: { accountId: account.id },
          orderBy: { id: 'desc' },
          take: MAX_ENTRIES,
        }),
    }),
  }),
});

export const InstancesChanged = builder.objectRef<InstancesChangedShape>('InstancesChanged').implement({
  description: 'Processes of Jobferry have started or ended, or their load has changed.',
  fields: (t) => ({
    instances: t.prismaField({
      type: [Instance],
      complexity: { field: 1, multiplier: MAX_INSTANCES },
      description: 'The running processes, as in `Query.instances`.',
      resolve: (query, _event, _args, context) => runningInstances(query, context),
    }),
  }),
});

export type AccountEvent = DeadLettersAddedShape | AuditLogChangedShape | InstancesChangedShape;

export async function accountEventsOf(
  context: GraphQLContext,
  { deadLettersOf, auditLog, instances }: Changes,
): Promise<AccountEvent[]> {
  const queues = deadLettersOf === undefined ? [] : await queuesNow(context, [...deadLettersOf].slice(0, MAX_EACH));
  return [
    ...(queues.length > 0 ? [{ deadLettersOf: queues }] : []),
    ...(auditLog === true ? [{ auditLog }] : []),
    ...(instances === true ? [{ instances }] : []),
  ];
}
