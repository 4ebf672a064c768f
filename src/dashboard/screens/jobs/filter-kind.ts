import { addChip, type Chip, labelOfChip, removeChip } from '../../model/filter/chips.ts';
import { formatChip } from '../../model/filter/format.ts';
import { parseFilter } from '../../model/filter/parse.ts';
import type { FilterKind } from '../../parts/filter-box.tsx';

export const JOBS_FILTER: FilterKind<Chip> = {
  placeholder: (isEmpty) => (isEmpty ? 'Filter: state, queue, error, code, time, payload path' : 'Add a condition'),
  parse: parseFilter,
  format: formatChip,
  label: labelOfChip,
  add: addChip,
  remove: (filter, chip) => removeChip(filter, filter.indexOf(chip)),
  isShown: () => true,
};
