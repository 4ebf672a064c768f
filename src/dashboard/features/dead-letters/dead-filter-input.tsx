import { useMemo } from 'react';
import { useRights } from '../../api/rights.ts';
import type { DeadChip } from '../../filter/dead/filter.ts';
import { deadSuggestions } from '../../filter/dead/suggest.ts';
import type { FilterInputProps } from '../../parts/filter/filter-box.tsx';
import { FilterInput } from '../../parts/filter/filter-input.tsx';
import { useKnown } from '../../parts/filter/use-known.ts';

export default function DeadFilterInput(props: FilterInputProps<DeadChip>) {
  const { text } = props;
  const rights = useRights();
  const known = useKnown(text, { hasQueues: true });
  const offers = useMemo(() => deadSuggestions(text, known, rights), [text, known, rights]);
  return <FilterInput {...props} offers={offers} />;
}
