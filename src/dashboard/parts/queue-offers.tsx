import { useQuery } from '@tanstack/preact-query';
import { SearchQueues } from '../api/operations/suggest.ts';
import { keepOld, query } from '../api/query.ts';
import { useSettled } from '../base/use-settled.ts';

/** Queues that a text may name, for an input whose `list` is this id. */
export function QueueOffers({ id, text }: { id: string; text: string }) {
  const search = useSettled(text);
  const found = useQuery({ ...query(SearchQueues, { search, tags: null }), ...keepOld }).data?.queues.nodes;
  return (
    <datalist id={id}>
      {found?.map(({ name }) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}
