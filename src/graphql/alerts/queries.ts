import type { Prisma } from '../../db/generated/client.ts';
import { ALERT_LIMITS } from '../../domain/alert-rule.ts';
import { isId } from '../../domain/id.ts';
import { builder } from '../builder.ts';
import { connectionOf } from '../connections.ts';
import { newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';
import { Alert, AlertNotification, AlertRule, AlertState } from './types.ts';

const AlertConnection = connectionOf(Alert, 'Alert', { page: 'A page of alerts.', edge: 'An alert and its cursor.' });

interface AlertArgs {
  state?: string | null | undefined;
  ruleId?: string | null | undefined;
}

function alertWhere({ state, ruleId }: AlertArgs, accountId: string): Prisma.AlertWhereInput {
  if (ruleId != null && !isId(ruleId)) return { accountId, id: '' };
  return { accountId, ...(state == null ? {} : { state }), ...(ruleId == null ? {} : { ruleId }) };
}

builder.queryFields((t) => ({
  alertRules: t.prismaField({
    type: [AlertRule],
    complexity: { field: 1, multiplier: ALERT_LIMITS.rules },
    description: `The alert rules of the account, the oldest first; at most ${ALERT_LIMITS.rules}.`,
    resolve: (query, _root, _args, { prisma, account }) =>
      prisma.alertRule.findMany({
        ...query,
        where: { accountId: account.id },
        orderBy: { id: 'asc' },
        take: ALERT_LIMITS.rules,
      }),
  }),
  alerts: t.connection(
    {
      type: Alert,
      complexity: pagePrice,
      description: `Alerts of the account, newest first. Ended ones are kept for 30 days, and the last ${ALERT_LIMITS.kept} of them.`,
      args: {
        state: t.arg({ type: AlertState, description: 'State of the alerts to return; all by default.' }),
        ruleId: t.arg.id({ description: 'Id of the rule whose alerts are returned; all rules by default.' }),
      },
      resolve: (_root, args, { prisma, account }, info) =>
        newestFirst({ args, info }, alertWhere(args, account.id), prisma.alert),
    },
    AlertConnection,
  ),
  alertNotification: t.prismaField({
    type: AlertNotification,
    nullable: true,
    description: 'A notification of the account; null if there is none with this id.',
    args: { id: t.arg.id({ required: true, description: 'Id of the notification.' }) },
    resolve: (query, _root, { id }, { prisma, account }) =>
      isId(id) ? prisma.alertNotification.findFirst({ ...query, where: { id, accountId: account.id } }) : null,
  }),
}));
