import {
  addDeadChip,
  type DeadChip,
  formatDeadChip,
  isShownChip,
  labelOfDeadChip,
  parseDeadTerm,
  removeDeadChip,
} from '../../filter/dead/filter.ts';
import { termsOf } from '../../filter/parse.ts';
import type { FilterKind } from '../../parts/filter/filter-box.tsx';

/** The filter box of dead letters: that of jobs, with other words. */
export const DEAD_FILTER: FilterKind<DeadChip> = {
  placeholder: (_isEmpty, seesPayloads) =>
    `Add: queue, reason, ${seesPayloads ? 'error, code, time of death, payload path' : 'code, time of death'}`,
  parse: (text) => termsOf(text).map(parseDeadTerm),
  format: formatDeadChip,
  label: labelOfDeadChip,
  add: addDeadChip,
  remove: removeDeadChip,
  isShown: isShownChip,
};
