import { contract } from '../../contract/index.ts';
import { invalidField } from '../../domain/errors.ts';
import {
  type Limits,
  MAX_CHOSEN,
  QUEUE_OUTCOMES,
  type QueueOutcome as QueueOutcomeShape,
} from '../../domain/several-queues.ts';
import type { SeveralQueues } from '../../services/queues/several.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { checked, refusing, withoutNulls } from '../input.ts';
import { PRICE } from '../prices.ts';

const QueueChoiceInput = builder.inputType('QueueChoice', {
  description: 'Queues of an action. Exactly one member must be given.',
  fields: (t) => ({
    ids: t.idList({ description: `Ids of queues, at most ${MAX_CHOSEN}.` }),
    names: t.stringList({ description: `Names of queues, at most ${MAX_CHOSEN}.` }),
    receiver: t.string({
      description:
        'All queues that deliver to this receiver: the host of the webhook URL, with its port unless it is the default of the scheme, such as `api.partner.com` or `api.partner.com:8443`.',
    }),
  }),
});

const LIMIT_FIELDS = {
  concurrency: 'Maximum number of jobs in flight, 1 to 500.',
  rateLimitMax: 'Maximum number of deliveries per rate window, at least 1; null means no limit.',
  rateLimitWindow: 'Length of the rate window in seconds, 0.001 to 3600.',
} as const;

const QueueLimitsInput = builder.inputType('QueueLimitsInput', {
  description: 'Limits to set. Those that are left out keep their values.',
  fields: (t) => ({
    concurrency: t.int({ description: LIMIT_FIELDS.concurrency }),
    rateLimitMax: t.int({ description: LIMIT_FIELDS.rateLimitMax }),
    rateLimitWindow: t.float({ description: LIMIT_FIELDS.rateLimitWindow }),
  }),
});

const FormerLimitsInput = builder.inputType('FormerLimitsInput', {
  description: 'The limits of a queue before a change, as `QueueOutcome` has them.',
  fields: (t) => ({
    id: t.id({ required: true, description: 'Id of the queue.' }),
    concurrency: t.int({ required: true, description: LIMIT_FIELDS.concurrency }),
    rateLimitMax: t.int({ description: LIMIT_FIELDS.rateLimitMax }),
    rateLimitWindow: t.float({ required: true, description: LIMIT_FIELDS.rateLimitWindow }),
  }),
});

const QueueOutcomeKind = enumOf(
  'QueueOutcomeKind',
  'Outcome of a mutation for one queue. `CHANGED`: the queue was changed; in a dry run, it would be changed. `UNCHANGED`: the queue was already in the requested state. `CHANGED_SINCE`: the undo did not change the queue, because another action has changed it since. `NOT_FOUND`: there is no such live queue.',
  QUEUE_OUTCOMES,
);

const QueueOutcome = builder.objectRef<QueueOutcomeShape>('QueueOutcome').implement({
  description: 'Outcome for one of several queues.',
  fields: (t) => ({
    id: t.exposeID('id', { nullable: true, description: 'Id of the queue; null for a name that no queue has.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name of the queue; null for an id that no live queue has.',
    }),
    outcome: t.field({ type: QueueOutcomeKind, description: 'The outcome.', resolve: ({ outcome }) => outcome }),
    concurrency: t.int({
      nullable: true,
      description: 'Maximum number of jobs in flight before the change; null if there is no such queue.',
      resolve: ({ limits }) => limits?.concurrency ?? null,
    }),
    rateLimitMax: t.int({
      nullable: true,
      description: 'Maximum number of deliveries per rate window before the change; null if there was no limit.',
      resolve: ({ limits }) => limits?.rateLimitMax ?? null,
    }),
    rateLimitWindow: t.float({
      nullable: true,
      description: 'Length of the rate window in seconds before the change; null if there is no such queue.',
      resolve: ({ limits }) => limits?.rateLimitWindow ?? null,
    }),
  }),
});

const QueuesPayload = builder.objectRef<SeveralQueues>('QueuesPayload').implement({
  description: 'Outcome for each of several queues.',
  fields: (t) => ({
    changed: t.int({
      description: 'Number of queues that were changed; in a dry run, that would be.',
      resolve: ({ queues }) => queues.filter(({ outcome }) => outcome === 'changed').length,
    }),
    queues: t.field({
      type: [QueueOutcome],
      description: 'The chosen queues: oldest first if chosen by receiver, otherwise in the order of the input.',
      resolve: ({ queues }) => queues,
    }),
    pausedAt: t.expose('pausedAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'Time at which the queues were paused, which `resumeQueues` accepts to undo it; null if no queue was paused.',
    }),
    waiting: t.int({
      complexity: PRICE.total,
      description: 'Number of pending jobs of the queues that were or would be changed, counted up to 10 000.',
      resolve: async (payload, _args, { loaders }) => (await loaders.waitingOfSeveral.load(payload)).count,
    }),
    waitingExact: t.boolean({
      complexity: PRICE.total,
      description: 'False if the queues have more pending jobs than `waiting`.',
      resolve: async (payload, _args, { loaders }) => (await loaders.waitingOfSeveral.load(payload)).exact,
    }),
  }),
});

/** @throws ValidationError */
function limitsOf(input: typeof QueueLimitsInput.$inferInput): Partial<Limits> {
  const { concurrency, rateLimitMax, rateLimitWindow } = checked(
    contract.queues.update.body,
    withoutNulls(input, ['rateLimitMax']),
  );
  const given = { concurrency, rateLimitMax, rateLimitWindow };
  const limits = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  if (Object.keys(limits).length > 0) return limits;
  throw new ValidationError('give at least one limit', ['give at least one limit'], {});
}

const CHOICE = { type: QueueChoiceInput, required: true, description: 'The queues.' } as const;
const DRY_RUN = {
  required: true,
  defaultValue: false,
  description: 'True: change nothing, and return what would change.',
} as const;
const ERRORS = { types: [ValidationError, NotFoundError, ConflictError] };
const ERRORS_OF_ACCOUNT = { types: [ValidationError, ForbiddenError, NotFoundError, ConflictError] };

builder.mutationFields((t) => ({
  pauseQueues: t.field({
    type: QueuesPayload,
    complexity: PRICE.severalQueues,
    description:
      'Pauses several queues in one transaction. Paused ones are left as they are. Each change has an entry in the audit log. This and the other mutations of several queues are refused with a `ConflictError` once the account made more than 50 000 changes in 24 hours.',
    errors: ERRORS,
    args: { queues: t.arg(CHOICE), dryRun: t.arg.boolean(DRY_RUN) },
    resolve: (_root, { queues, dryRun }, { services, account }) =>
      refusing(() => services.queues.pauseSeveral(account, queues, { dryRun })),
  }),
  resumeQueues: t.field({
    type: QueuesPayload,
    complexity: PRICE.severalQueues,
    description: 'Ends the pauses of several queues in one transaction, as `pauseQueues` begins them.',
    errors: ERRORS_OF_ACCOUNT,
    args: {
      queues: t.arg(CHOICE),
      pausedAt: t.arg({
        type: 'DateTime',
        description:
          'Only pauses that began at this time, to undo a `pauseQueues`; all if it is left out. Null is refused: it is the `pausedAt` of a `pauseQueues` that paused nothing.',
      }),
      dryRun: t.arg.boolean(DRY_RUN),
    },
    resolve: (_root, { queues, pausedAt, dryRun }, { services, account }) =>
      refusing(() => {
        // The undo of a pause that paused nothing must not end the pauses of others.
        if (pausedAt === null) throw invalidField('pausedAt', 'must be a time: leave it out for all pauses');
        return services.queues.resumeSeveral(account, queues, { pausedAt: pausedAt ?? null, dryRun });
      }),
  }),
  endHolds: t.field({
    type: QueuesPayload,
    complexity: PRICE.severalQueues,
    description: 'Ends the holds of several queues, 20 in a transaction, each as `endHold` does.',
    errors: ERRORS,
    args: { queues: t.arg(CHOICE), dryRun: t.arg.boolean(DRY_RUN) },
    resolve: (_root, { queues, dryRun }, { services, account }) =>
      refusing(() => services.queues.endHoldSeveral(account, queues, { dryRun })),
  }),
  limitQueues: t.field({
    type: QueuesPayload,
    complexity: PRICE.severalQueues,
    description:
      'Sets limits of several queues in one transaction. It is refused, and changes nothing, if the sum of `concurrency` over all queues of the account would exceed the limit.',
    errors: ERRORS_OF_ACCOUNT,
    args: {
      queues: t.arg(CHOICE),
      limits: t.arg({ type: QueueLimitsInput, required: true, description: 'The limits to set.' }),
      dryRun: t.arg.boolean(DRY_RUN),
    },
    resolve: (_root, { queues, limits, dryRun }, { services, account }) =>
      refusing(() => services.queues.limitSeveral(account, queues, limitsOf(limits), { dryRun })),
  }),
  restoreQueueLimits: t.field({
    type: QueuesPayload,
    complexity: PRICE.severalQueues,
    description:
      'Undoes a `limitQueues`: restores the former limits of the queues that still have the limits which it set. Other queues have the outcome `CHANGED_SINCE`.',
    errors: ERRORS_OF_ACCOUNT,
    args: {
      former: t.arg({
        type: [FormerLimitsInput],
        required: true,
        description: `The limits that the queues had before the \`limitQueues\`; at most ${MAX_CHOSEN} queues.`,
      }),
      limits: t.arg({
        type: QueueLimitsInput,
        required: true,
        description: 'The limits that the `limitQueues` set.',
      }),
    },
    resolve: (_root, { former, limits }, { services, account }) =>
      refusing(() => {
        const back = former.map(({ rateLimitMax = null, ...given }) => ({ ...given, rateLimitMax }));
        for (const { id: _, ...given } of back) checked(contract.queues.update.body, given);
        return services.queues.restoreLimits(account, back, limitsOf(limits));
      }),
  }),
}));
