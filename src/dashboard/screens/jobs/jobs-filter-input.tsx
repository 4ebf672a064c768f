import { useMemo } from 'react';
import type { Chip } from '../../model/filter/chips.ts';
import { suggestionsFor } from '../../model/filter/suggest.ts';
import type { FilterInputProps } from '../../parts/filter-box.tsx';
import { FilterInput } from '../../parts/filter-input.tsx';
import { useKnown } from '../../parts/use-known.ts';

export default function JobsFilterInput(props: FilterInputProps<Chip>) {
  const { text } = props;
  const known = useKnown(text);
  const offers = useMemo(() => suggestionsFor(text, known), [text, known]);
  return <FilterInput {...props} offers={offers} />;
}
