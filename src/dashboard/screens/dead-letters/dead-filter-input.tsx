import { useMemo } from 'react';
import type { DeadChip } from '../../model/dead/filter.ts';
import { deadSuggestions } from '../../model/dead/suggest.ts';
import type { FilterInputProps } from '../../parts/filter-box.tsx';
import { FilterInput } from '../../parts/filter-input.tsx';
import { useKnown } from '../../parts/use-known.ts';
import { useRights } from '../../shell/rights.ts';

export default function DeadFilterInput(props: FilterInputProps<DeadChip>) {
  const { text } = props;
  const rights = useRights();
  const known = useKnown(text, { hasQueues: true });
  const offers = useMemo(() => deadSuggestions(text, known, rights), [text, known, rights]);
  return <FilterInput {...props} offers={offers} />;
}
