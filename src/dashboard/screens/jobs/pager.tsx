import { count as countText, number } from '../../model/format.ts';
import type { Count } from '../../model/jobs-sentence.ts';
import type { ListUrl } from './list-url.ts';

interface PageInfo {
  startCursor: string | null;
  endCursor: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
}

export function Pager({
  url,
  shown,
  all,
  pageInfo,
  onPage,
}: {
  url: ListUrl;
  shown: number;
  all: Count | null;
  pageInfo: PageInfo | undefined;
  onPage: (page: Partial<ListUrl>) => void;
}) {
  const isFirst = url.after === null && url.before === null;
  const total = all === null ? '' : ` of ${countText(all.count, all.exact)}`;
  const words = url.order === 'newest' ? ['Newer', 'Older'] : ['Back', 'On'];
  const hasBefore = pageInfo?.hasPreviousPage === true;
  const hasAfter = pageInfo?.hasNextPage === true;
  return (
    <div className="pager">
      <span>{isFirst ? `1 to ${number(shown)}${total}` : `${number(shown)}${total}`}</span>
      <span className="end">
        <button
          type="button"
          className="btn tiny"
          aria-disabled={!hasBefore}
          onClick={() => hasBefore && onPage({ before: pageInfo.startCursor, after: null })}
        >
          {words[0]}
        </button>
        <button
          type="button"
          className="btn tiny"
          aria-disabled={!hasAfter}
          onClick={() => hasAfter && onPage({ after: pageInfo.endCursor, before: null })}
        >
          {words[1]}
        </button>
      </span>
    </div>
  );
}
