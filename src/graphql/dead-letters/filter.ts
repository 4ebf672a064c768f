import type { DeadLetterFilter } from '../../domain/job-filter.ts';
import { builder } from '../builder.ts';
import { DeadReason } from '../enums.ts';
import { given, type Nullable, range, TimeRangeInput } from '../filter-input.ts';

export const DeadLetterFilterInput = builder.inputType('DeadLetterFilter', {
  description: 'Everything that is given must hold; an empty filter matches all dead letters.',
  fields: (t) => ({
    queueIds: t.idList({ description: 'In one of these queues.' }),
    dead: t.field({ type: TimeRangeInput, description: 'Dead in this time.' }),
    reasons: t.field({ type: [DeadReason], description: 'For one of these reasons.' }),
    fingerprints: t.stringList({ description: 'In one of these error groups.' }),
    replayed: t.boolean({ description: 'Whether it was replayed.' }),
    errorContains: t.string({ description: 'Text within the error, upper and lower case alike.' }),
    webhookStatusCodes: t.intList({ description: 'The webhook’s last answer was one of these.' }),
  }),
});

export function toDeadLetterFilter(
  input: typeof DeadLetterFilterInput.$inferInput | null | undefined,
): DeadLetterFilter {
  if (input == null) return {};
  const { dead, ...rest } = input;
  return given<DeadLetterFilter>({ ...(rest as Nullable<DeadLetterFilter>), dead: range(dead) });
}
