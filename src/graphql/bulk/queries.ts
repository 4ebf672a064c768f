import { isId } from '../../domain/id.ts';
import { builder } from '../builder.ts';
import { connectionOf } from '../connections.ts';
import { newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';
import { BulkAction, BulkActionStatus } from './types.ts';

const BulkActionConnection = connectionOf(BulkAction, 'BulkAction', {
  page: 'A page of bulk actions.',
  edge: 'A bulk action and its cursor.',
});

function actionWhere({ status }: { status?: string | null | undefined }, accountId: string) {
  return { accountId, ...(status == null ? {} : { status }) };
}

builder.queryFields((t) => ({
  bulkActions: t.connection(
    {
      type: BulkAction,
      complexity: pagePrice,
      description: 'Bulk actions of the account, newest first.',
      args: {
        status: t.arg({ type: BulkActionStatus, description: 'Status of the bulk actions to return; all by default.' }),
      },
      resolve: (_root, args, { prisma, account }, info) =>
        newestFirst({ args, info }, actionWhere(args, account.id), prisma.bulkAction),
    },
    BulkActionConnection,
  ),
  bulkAction: t.prismaField({
    type: BulkAction,
    nullable: true,
    description: 'A bulk action of the account; null if there is no such bulk action.',
    args: { id: t.arg.id({ required: true, description: 'Id of the bulk action.' }) },
    resolve: (query, _root, { id }, { prisma, account }) =>
      isId(id) ? prisma.bulkAction.findFirst({ ...query, where: { id, accountId: account.id } }) : null,
  }),
}));
