import { useMemo } from 'react';
import type { Chip } from '../../model/filter/chips.ts';
import { suggestionsFor } from '../../model/filter/suggest.ts';
import type { FilterInputProps } from '../../parts/filter-box.tsx';
import { FilterInput } from '../../parts/filter-input.tsx';
import { useKnown } from '../../parts/use-known.ts';
import { useRights } from '../../shell/rights.ts';

export default function JobsFilterInput(props: FilterInputProps<Chip>) {
  const { text } = props;
  const rights = useRights();
  const known = useKnown(text);
  const offers = useMemo(() => suggestionsFor(text, known, rights), [text, known, rights]);
  return <FilterInput {...props} offers={offers} />;
}
