import { useMemo } from 'react';
import { useRights } from '../../../api/rights.ts';
import type { Chip } from '../../../filter/chips.ts';
import { suggestionsFor } from '../../../filter/suggest.ts';
import type { FilterInputProps } from '../../../parts/filter/filter-box.tsx';
import { FilterInput } from '../../../parts/filter/filter-input.tsx';
import { useKnown } from '../../../parts/filter/use-known.ts';

export default function JobsFilterInput(props: FilterInputProps<Chip>) {
  const { text } = props;
  const rights = useRights();
  const known = useKnown(text);
  const offers = useMemo(() => suggestionsFor(text, known, rights), [text, known, rights]);
  return <FilterInput {...props} offers={offers} />;
}
