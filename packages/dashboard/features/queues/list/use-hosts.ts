import { useQuery } from '@tanstack/preact-query';
import { typedReceiver } from '../../../../query/filter/queue-search.ts';
import { SearchReceivers } from '../../../../query/schema/suggest.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useSettled } from '../../../base/use-settled.ts';

/** Hosts for the one that is being typed after `receiver:`. */
export function useHosts(text: string): string[] {
  const typed = typedReceiver(useSettled(text));
  const result = useQuery({ ...query(SearchReceivers, { search: typed ?? '' }), ...keepOld, enabled: typed !== null });
  return typed === null ? [] : (result.data?.receivers.map(({ host }) => host) ?? []);
}
