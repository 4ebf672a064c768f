import { builder } from '../builder.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { BulkActionPayload, type BulkActionResult } from './types.ts';

/** A change of one bulk action; `change` is the name of its use case. */
const changes = (change: 'cancel' | 'pause' | 'resume', description: string) =>
  builder.mutationField(`${change}BulkAction`, (t) =>
    t.field({
      type: BulkActionPayload,
      description,
      errors: { types: [NotFoundError, ConflictError] },
      args: { id: t.arg.id({ required: true, description: 'Id of the bulk action.' }) },
      resolve: (_root, { id }, { services, account }) =>
        refusing(
          async (): Promise<BulkActionResult> => ({
            matched: null,
            actionId: await services.bulk[change](account, idOf(id, 'bulk action')),
          }),
        ),
    }),
  );

changes('cancel', 'Stops a bulk action. Finished batches are not undone.');
changes(
  'pause',
  'Pauses a running bulk action after its present batch, until it is resumed or cancelled. The job of the canary replay is still delivered. Changes nothing if the bulk action is already paused.',
);
changes('resume', 'Continues a paused bulk action where it stopped. Changes nothing if it is running.');
