import { breakerOpenSince } from '../../domain/breaker.ts';
import { builder } from '../builder.ts';
import { NotFoundError, ValidationError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import type { QueueRow } from '../loaders.ts';
import { QueuePayload, queueAfter } from './after-change.ts';

/** The breaker of a queue. */

export const QueueBreaker = builder.objectRef<QueueRow>('QueueBreaker').implement({
  description:
    'The breaker of a queue. It opens when the failed answers of the webhook reach one of its limits. While it is open, the queue is held, and one job at a time probes the webhook: first after 10 s, then at intervals that double up to 5 min. A failed probe uses up no attempt. The breaker closes when the webhook answers 2xx. When the webhook, its secret or the breaker is changed, the next probe is due at once.',
  fields: (t) => ({
    failures: t.exposeInt('breakerFailures', {
      nullable: true,
      description: 'Number of failed answers in a row that opens the breaker; null if their number does not open it.',
    }),
    seconds: t.exposeInt('breakerSeconds', {
      nullable: true,
      description:
        'Time in seconds that opens the breaker if all answers, at least two, have failed for so long; null if time does not open it.',
    }),
    failedInRow: t.exposeInt('breakerFailed', { description: 'Number of answers in a row that have failed.' }),
    failedSince: t.expose('breakerFailedSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Time of the first answer that `failedInRow` counts; null if the last answer succeeded.',
    }),
    openedAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Time at which it opened; null while it is closed.',
      resolve: breakerOpenSince,
    }),
    failedProbes: t.int({
      description:
        'Number of probes that have failed since it opened, or since the webhook or its signature was changed; 0 while it is closed.',
      resolve: (queue) => (breakerOpenSince(queue) === null ? 0 : queue.breakerProbes),
    }),
  }),
});

const BreakerInput = builder.inputType('BreakerInput', {
  description:
    'Limits at which a breaker opens: `failures`, `seconds` or both. With `seconds` alone, jobs that use up their attempts in less time die before the breaker opens.',
  fields: (t) => ({
    failures: t.int({ description: 'Number of failed answers in a row, 2 to 1000.' }),
    seconds: t.int({ description: 'Time in seconds in which all answers have failed, at least two; 1 to 3600.' }),
  }),
});

builder.mutationFields((t) => ({
  setBreaker: t.field({
    type: QueuePayload,
    description:
      'Sets when the breaker of a queue opens. Without `breaker`, the breaker is removed; if it was open, deliveries continue. All workers apply the change within 2 s.',
    errors: { types: [ValidationError, NotFoundError] },
    args: {
      queueId: t.arg.id({ required: true, description: 'Id of the queue.' }),
      breaker: t.arg({
        type: BreakerInput,
        description: 'Limits at which the breaker opens; null for no breaker, as by default.',
      }),
    },
    resolve: (_root, { queueId: id, breaker }, context) =>
      refusing(async () => {
        const settings =
          breaker == null ? null : { failures: breaker.failures ?? null, seconds: breaker.seconds ?? null };
        await context.services.queues.setBreaker(context.account, idOf(id, 'queue'), settings);
        return queueAfter(context, id);
      }),
  }),
}));
