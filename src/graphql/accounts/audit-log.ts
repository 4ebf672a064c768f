import type { Prisma } from '../../db/generated/client.ts';
import { AUDIT_GROUPS, actionsOf, type AuditGroup as Group } from '../../domain/audit.ts';
import { assertRange } from '../../domain/check-job-filter.ts';
import { firstIdAt } from '../../domain/id.ts';
import { isStorableText } from '../../domain/text.ts';
import { shownRule } from '../alerts/webhook-url.ts';
import { builder } from '../builder.ts';
import { connectionOf } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { enumOf } from '../enums.ts';
import { given, range, TimeRangeInput } from '../filter-input.ts';
import { newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';

export const AuditEntry = builder.prismaObject('AuditEntry', {
  description: 'A change in the account: the actor, the time, and the values before and after.',
  authScopes: (entry) => ({ owner: entry.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the entry, 24 hexadecimal digits.' }),
    at: t.expose('at', { type: 'DateTime', description: 'Time of the change.' }),
    actor: t.exposeString('actorLabel', {
      description:
        'Actor that made the change: an API key by its name and its first and last characters, a member by the e-mail address, the operator, or `Jobferry` for what a breaker does.',
    }),
    apiKeyId: t.id({
      nullable: true,
      description: 'Id of the actor’s API key; null for any other actor.',
      resolve: ({ actorType, actorId }) => (actorType === 'api_key' ? actorId : null),
    }),
    memberId: t.id({
      nullable: true,
      description: 'Id of the member that is the actor; null for any other actor.',
      resolve: ({ actorType, actorId }) => (actorType === 'member' ? actorId : null),
    }),
    action: t.exposeString('action', { description: 'Kind of the change, such as `queue.update`.' }),
    targetType: t.exposeString('targetType', { description: 'Type of the changed object, such as `queue`.' }),
    targetId: t.exposeID('targetId', { description: 'Id of the changed object.' }),
    targetName: t.exposeString('targetName', {
      nullable: true,
      description: 'Name of the object at the time of the change; null if it has none.',
    }),
    before: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'Values before the change; null if there were none. The webhook of an alert rule is shown as in `AlertRule`.',
      resolve: (entry, _args, context) => valuesOf(entry, entry.before, context),
    }),
    after: t.field({
      type: 'JSON',
      nullable: true,
      description:
        'Values after the change; null if there are none. The webhook of an alert rule is shown as in `AlertRule`.',
      resolve: (entry, _args, context) => valuesOf(entry, entry.after, context),
    }),
  }),
});

function valuesOf({ targetType }: { targetType: string }, stored: unknown, context: GraphQLContext): unknown {
  return targetType === 'alert_rule' ? shownRule(stored, context) : stored;
}

const AuditEntryConnection = connectionOf(AuditEntry, 'AuditEntry', {
  page: 'A page of the audit log.',
  edge: 'An entry and its cursor.',
});

const AuditGroup = enumOf(
  'AuditGroup',
  'A group of changes. `SETTINGS`: settings, secrets and pauses of the account, queues, alert rules and saved views. `ACCESS`: API keys and members. `JOBS`: actions on jobs and dead letters, and requests to receivers. `BREAKERS`: breakers that Jobferry opened and closed, which are in `JOBS`, too. `SIGN_INS`: sessions that begin, and sessions that are ended one by one.',
  AUDIT_GROUPS,
);

interface AuditArgs {
  groups?: readonly Group[] | null | undefined;
  action?: string | null | undefined;
  targetId?: string | null | undefined;
  actor?: string | null | undefined;
  at?: typeof TimeRangeInput.$inferInput | null | undefined;
}

/**
 * The entries that the arguments name: as a condition, and as kinds if they are several and of any object. The changes
 * of one object, or of one kind, are in the order of an index.
 * @throws JobferryError `invalid_request` (range of time)
 */
function entriesOf({ groups, action, targetId, actor, at }: AuditArgs, accountId: string) {
  assertRange('at', range(at));
  const texts = given<{ action: string; targetId: string; actorLabel: string }>({
    action,
    targetId,
    actorLabel: actor,
  });
  const actions = groups == null ? null : actionsOf(groups).filter((kind) => action == null || kind === action);
  // Text that cannot be stored matches nothing.
  const isPossible = Object.values(texts).every(isStorableText) && actions?.length !== 0;
  if (!isPossible) return { where: { accountId, id: '' }, kinds: null };
  // Ids grow with time, so a time range is a range of ids, which the index serves.
  const from = firstIdAt(at?.from?.getTime() ?? 0);
  const below = firstIdAt(at?.to == null ? Number.POSITIVE_INFINITY : at.to.getTime() + 1);
  const isMany = actions !== null && action == null;
  const where: Prisma.AuditEntryWhereInput = {
    accountId,
    id: { gte: from, lt: below },
    ...texts,
    ...(isMany && { action: { in: actions } }),
  };
  return {
    where,
    kinds: isMany && targetId == null ? { actions, actor: actor ?? null, from, below } : null,
  };
}

builder.queryFields((t) => ({
  auditLog: t.connection(
    {
      type: AuditEntry,
      complexity: pagePrice,
      description: 'Changes in the account, newest first.',
      args: {
        groups: t.arg({
          type: [AuditGroup],
          description: 'Groups of the changes to return; all by default, and none for an empty list.',
        }),
        action: t.arg.string({
          description: 'Kind of the changes to return, for example `queue.update`; all by default.',
        }),
        targetId: t.arg.id({ description: 'Id of the object whose changes are returned; all objects by default.' }),
        actor: t.arg.string({ description: 'Actor of the changes, as in `AuditEntry.actor`; all actors by default.' }),
        at: t.arg({ type: TimeRangeInput, description: 'Changes in this range of time; all by default.' }),
      },
      resolve: (_root, args, { prisma, account, services }, info) => {
        const { where, kinds } = entriesOf(args, account.id);
        if (kinds !== null) return newestFirst({ args, info }, where, services.audit.ofKinds(account, kinds));
        return newestFirst({ args, info }, where, prisma.auditEntry);
      },
    },
    AuditEntryConnection,
  ),
}));
