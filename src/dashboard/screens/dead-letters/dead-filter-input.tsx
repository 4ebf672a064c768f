import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SearchQueues } from '../../graphql/operations/suggest.ts';
import { keepOld, query } from '../../graphql/query.ts';
import type { DeadChip } from '../../model/dead/filter.ts';
import { deadSuggestions } from '../../model/dead/suggest.ts';
import type { FilterInputProps } from '../../parts/filter-box.tsx';
import { FilterInput } from '../../parts/filter-input.tsx';
import { useSettled } from '../../parts/use-settled.ts';

export default function DeadFilterInput(props: FilterInputProps<DeadChip>) {
  const { text } = props;
  const search = useSettled(text.replace(/^queue:/, ''));
  const queues = useQuery({ ...query(SearchQueues, { search }), ...keepOld, enabled: text !== '' });
  const offers = useMemo(
    () => deadSuggestions(text, queues.data?.queues.nodes.map(({ name }) => name) ?? []),
    [text, queues.data],
  );
  return <FilterInput {...props} offers={offers} />;
}
