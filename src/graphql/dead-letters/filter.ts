import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import { builder } from '../builder.ts';
import { DeadReason } from '../enums.ts';
import { given, type Nullable, range, TimeRangeInput } from '../filter-input.ts';
import { PayloadConditionInput, toCondition } from '../jobs/filter.ts';

export const DeadLetterFilterInput = builder.inputType('DeadLetterFilter', {
  description:
    'A filter of dead letters. All given members must hold; an empty filter matches all dead letters. An empty list matches no dead letter. A bulk action refuses a filter that has only empty lists, unless `all` is true. With `all`, the bulk action finds nothing.',
  fields: (t) => ({
    ids: t.idList({ description: 'Dead letters with these ids; at most 100.' }),
    queueIds: t.idList({ description: 'Dead letters of these queues.' }),
    receivers: t.stringList({
      description:
        'Dead letters of queues that deliver to one of these receivers, as in `Receiver.host`. A bulk action uses the queues that deliver to them at the time of the request.',
    }),
    dead: t.field({ type: TimeRangeInput, description: 'Dead letters of jobs that died in this range.' }),
    reasons: t.field({ type: [DeadReason], description: 'Dead letters of jobs that died for one of these reasons.' }),
    fingerprints: t.stringList({ description: 'Dead letters of the error groups with these fingerprints.' }),
    replayed: t.boolean({
      description: 'True: only dead letters that were replayed. False: only those that were not.',
    }),
    dismissed: t.boolean({
      description:
        'True: only dead letters that are dismissed with their error group, see `dismissErrorGroup`. False: only those that are not.',
    }),
    errorContains: t.string({ description: 'Dead letters whose error contains this text, ignoring case.' }),
    webhookStatusCodes: t.intList({
      description: 'Dead letters whose last attempt had an answer with one of these status codes.',
    }),
    answers: t.stringList({
      description:
        'Dead letters with one of these answers, as in `ErrorGroup.answer`; empty text for those without one.',
    }),
    payload: t.field({
      type: PayloadConditionInput,
      description: 'Dead letters of jobs whose payload fulfils this condition.',
    }),
  }),
});

export function toDeadLetterFilter(
  input: typeof DeadLetterFilterInput.$inferInput | null | undefined,
): DeadLetterFilter {
  if (input == null) return {};
  const { dead, payload, ...rest } = input;
  return given<DeadLetterFilter>({
    ...(rest as Nullable<DeadLetterFilter>),
    dead: range(dead),
    payload: payload == null ? undefined : toCondition(payload),
  });
}
