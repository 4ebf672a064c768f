import { builder } from '../builder.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { BulkActionPayload, type BulkActionResult } from './types.ts';

builder.mutationFields((t) => ({
  cancelBulkAction: t.field({
    type: BulkActionPayload,
    description: 'Stops a bulk action. Finished batches are not undone.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the bulk action.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(
        async (): Promise<BulkActionResult> => ({
          matched: null,
          actionId: await services.bulk.cancel(account, idOf(id, 'bulk action')),
        }),
      ),
  }),
}));
