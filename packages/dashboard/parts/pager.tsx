import { Link } from 'wouter-preact';

interface PageInfo {
  startCursor: string | null;
  endCursor: string | null;
  hasNextPage: boolean;
  hasPreviousPage: boolean;
}

/** Earlier and later pages of a list, as links. Nothing but the summary if the list is one page. */
export function Pager({
  info: { startCursor, endCursor, hasNextPage, hasPreviousPage },
  pathTo,
  summary,
  labels: [back, on] = ['Newer', 'Older'],
}: {
  info: PageInfo;
  pathTo: (place: { after: string } | { before: string }) => string;
  summary?: string;
  labels?: readonly [back: string, on: string] | undefined;
}) {
  const isOne = !hasNextPage && !hasPreviousPage;
  if (isOne && summary === undefined) return null;
  return (
    <nav className="pager" aria-label="Pages">
      {summary !== undefined && <span>{summary}</span>}
      {!isOne && (
        <span className="end">
          <PageLink
            label={back}
            to={hasPreviousPage && startCursor !== null ? pathTo({ before: startCursor }) : null}
          />
          <PageLink label={on} to={hasNextPage && endCursor !== null ? pathTo({ after: endCursor }) : null} />
        </span>
      )}
    </nav>
  );
}

function PageLink({ label, to }: { label: string; to: string | null }) {
  if (to === null) {
    return (
      <span className="btn tiny" aria-disabled="true">
        {label}
      </span>
    );
  }
  return (
    <Link className="btn tiny" href={to}>
      {label}
    </Link>
  );
}
