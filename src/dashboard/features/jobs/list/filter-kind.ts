import { addChip, type Chip, labelOfChip, removeChip } from '../../../filter/chips.ts';
import { formatChip } from '../../../filter/format.ts';
import { parseFilter } from '../../../filter/parse.ts';
import type { FilterKind } from '../../../parts/filter/filter-box.tsx';

export const JOBS_FILTER: FilterKind<Chip> = {
  placeholder: (isEmpty, seesPayloads) => {
    if (!isEmpty) return 'Add a condition';
    return `Filter: ${seesPayloads ? 'state, queue, error, code, time, payload path' : 'state, queue, code, time'}`;
  },
  parse: parseFilter,
  format: formatChip,
  label: labelOfChip,
  add: addChip,
  remove: (filter, chip) => removeChip(filter, filter.indexOf(chip)),
  isShown: () => true,
};
