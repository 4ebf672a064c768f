import { useSearchParams } from 'wouter-preact';
import { toSearch } from '../../../query/filter/search.ts';
import type { Operation } from '../../../query/schema/graphql.ts';
import { keepOld, query } from '../../api/query.ts';

const PAGE = 50;
/** People do not come by the live stream. */
const AGAIN_MS = 30_000;

interface Place {
  first?: number | null;
  after?: string | null;
  last?: number | null;
  before?: string | null;
}

/** A list by pages, of which the address has the present one: `?after` or `?before`. */
export function usePaged<Result>(operation: Operation<Result, Place>, path: string) {
  const [params] = useSearchParams();
  const [after, before] = [params.get('after'), params.get('before')];
  const place = before === null ? { first: PAGE, after } : { last: PAGE, before };
  return {
    options: { ...query(operation, place), ...keepOld, refetchInterval: AGAIN_MS },
    pathTo: (to: Record<string, string>) => `${path}${toSearch(to)}`,
  };
}
