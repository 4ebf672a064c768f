import { builder } from '../builder.ts';
import { MAX_EACH } from './queues-now.ts';

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
        'True: sends the queues that have new dead letters, and so changed error groups, within about two seconds. Nothing is sent at the start.',
    }),
    auditLog: t.boolean({
      description: 'True: new entries of the audit log, within about two seconds. The newest are sent at the start.',
    }),
    instances: t.boolean({
      description:
        'True: sends the running processes at the start, and within about two seconds after one has started or ended, or its load has changed. Accounts that may not see processes get an empty list at the start, and no later events.',
    }),
  }),
});

/** Maximum number of objects in one event. */
export function mostObjects(watch: typeof WatchInput.$inferInput | null | undefined): number {
  const { queueIds, jobIds, allQueues, errorGroups, auditLog, instances } = watch ?? {};
  const hasLists = [allQueues, errorGroups, auditLog, instances].includes(true);
  return hasLists ? MAX_EACH : Math.max(1, queueIds?.length ?? 0, jobIds?.length ?? 0);
}
