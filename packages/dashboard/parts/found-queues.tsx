import { useQuery } from '@tanstack/preact-query';
import { Link } from 'wouter-preact';
import { LEAST_MISSPELT, meantQueues, queueSearchOf } from '../../query/filter/queue-search.ts';
import { SearchQueues } from '../../query/schema/suggest.ts';
import { keepOld, query } from '../api/query.ts';

/** Queues by a search; the old ones until the new ones are there. If it finds none, those whose name it misspells. */
export function useFoundQueues(search: string, options?: { enabled?: boolean; staleTime?: number }) {
  const result = useQuery({ ...query(SearchQueues, queueSearchOf(search)), ...keepOld, ...options });
  const found = result.data?.queues.nodes ?? [];
  const enabled = result.isSuccess && found.length === 0 && search.length >= LEAST_MISSPELT;
  const all = useQuery({ ...query(SearchQueues, { first: 100 }), enabled });
  return {
    queues: enabled ? meantQueues(search, all.data?.queues.nodes) : found,
    isFetching: result.isFetching || all.isFetching,
  };
}

/** Leads to the queues whose name a text misspells. */
export function MeantQueues({ text, href }: { text: string; href: (name: string) => string }) {
  return useFoundQueues(text).queues.map(
    ({ name, ...queue }) =>
      'meantBy' in queue && (
        <Link key={name} className="btn tiny" href={href(name)}>
          Did you mean {name}?
        </Link>
      ),
  );
}
