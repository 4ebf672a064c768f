import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { SearchQueues } from '../../graphql/operations/suggest.ts';
import { keepOld, query } from '../../graphql/query.ts';
import type { DeadChip } from '../../model/dead/filter.ts';
import { deadSuggestions } from '../../model/dead/suggest.ts';
import { mayFilterBy } from '../../model/rights.ts';
import type { FilterInputProps } from '../../parts/filter-box.tsx';
import { FilterInput } from '../../parts/filter-input.tsx';
import { useSettled } from '../../parts/use-settled.ts';
import { useRights } from '../../shell/rights.ts';

export default function DeadFilterInput(props: FilterInputProps<DeadChip>) {
  const { text } = props;
  const rights = useRights();
  const search = useSettled(text.replace(/^queue:/, ''));
  const queues = useQuery({ ...query(SearchQueues, { search }), ...keepOld, enabled: text !== '' });
  const offers = useMemo(
    () =>
      deadSuggestions(text, queues.data?.queues.nodes.map(({ name }) => name) ?? []).filter(
        ({ does }) =>
          !('text' in does || 'chip' in does) || mayFilterBy(rights, 'text' in does ? does.text : does.chip.word),
      ),
    [text, queues.data, rights],
  );
  return <FilterInput {...props} offers={offers} />;
}
