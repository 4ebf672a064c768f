import './jobs.css';
import { lazy, Suspense, useEffect, useRef, useState } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import type { ListToExport } from '../../../../query/export/run.ts';
import { formatFilter, INVALID_FILTER, isValid } from '../../../../query/filter/engine.ts';
import { JOBS, type JobsFilter, stillMatches } from '../../../../query/filter/jobs.ts';
import { attemptsPath } from '../../../../query/filter/links.ts';
import type { JobRow } from '../../../../query/schema/fragments.ts';
import { textOf } from '../../../../query/schema/graphql.ts';
import { type Count, count, exactTime, many, number } from '../../../../query/words/format.ts';
import { queryClient } from '../../../api/query.ts';
import { useServer } from '../../../api/server.ts';
import { preferences } from '../../../base/preferences.ts';
import { useStore } from '../../../base/store.ts';
import { PHONE, useMedia } from '../../../base/use-media.ts';
import { CompareChoice } from '../../../parts/compare-choice.tsx';
import { copy } from '../../../parts/copy.tsx';
import { ExportButton } from '../../../parts/export/export-button.tsx';
import { FilterBox } from '../../../parts/filter/filter-box.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { late } from '../../../parts/page/late.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { Pager } from '../../../parts/pager.tsx';
import { Empty, Failure, Skeleton, useIsLate } from '../../../parts/states.tsx';
import { useTicks } from '../../../parts/use-ticks.ts';
import { rememberList } from '../job/last-list.ts';
import { headOfJobs } from '../model/jobs-sentence.ts';
import { JobsPage } from '../operations/jobs.ts';
import { BulkBar } from './bulk-bar.tsx';
import { Histogram } from './histogram.tsx';
import { JobsTable } from './jobs-table.tsx';
import { jobFilterOf, type ListUrl, ORDERS, searchOf, useListUrl } from './list-url.ts';
import { useJobs } from './use-jobs.ts';
import { useListKeys } from './use-list-keys.ts';
import { useFrozenRows } from './use-rows.ts';

const NothingMatches = lazy(() => import('./nothing.tsx'));
const Peek = late(
  () => import('./peek.tsx'),
  (coming) => (
    <aside className="peek" aria-label="Job">
      {coming}
    </aside>
  ),
);

/** Which jobs match, and what can I do with them? */
export default function Jobs() {
  const { url, filter, search, set, setFilter } = useListUrl();
  const server = useServer();
  const input = useRef<HTMLInputElement>(null);
  const jobs = useJobs(filter, url);
  const [cursor, setCursor] = useState<string | null>(null);
  // A phone has no room for a peek: the row opens the job.
  const isPhone = useMedia(PHONE);
  const peek = isPhone ? null : url.peek;
  const pageKey = `${url.q} ${url.order} ${url.after} ${url.before} ${url.from}`;
  // Ticks and the row under the cursor are of one page; "all that match" is of one filter and range.
  const ticks = useTicks(pageKey);
  useEffect(() => setCursor(null), [pageKey]);
  const isHeld = ticks.ids.size > 0 || ticks.isAll || peek !== null;
  const { rows, gone, onPointerMove, release } = useFrozenRows(jobs.rows, pageKey, isHeld);
  const ids = rows.map(({ id }) => id);
  const listSearch = search.replace(/[?&]peek=[^&]*/, '');
  const [, navigate] = useLocation();

  useEffect(
    () =>
      rememberList(
        listSearch,
        rows.map(({ id }) => id),
      ),
    [listSearch, rows],
  );

  const { move } = useListKeys({
    ids,
    cursor,
    setCursor,
    ticks,
    peek,
    focusFilter: () => input.current?.focus(),
    setPeek: (id) => set({ peek: id }),
    canPeek: !isPhone,
    open: (id) => navigate(`/jobs/${id}${listSearch}`),
  });

  const isLate = useIsLate(jobs.isSearching || jobs.isCounting);
  const hasFilter = filter.length > 0 || url.from !== null;
  const sentence = isValid(filter)
    ? headOfJobs({
        rows: jobs.isSearching || jobs.rows === undefined ? null : jobs.rows.length,
        isWhole: jobs.pageInfo?.hasNextPage === false && !jobs.pageInfo.hasPreviousPage,
        all: jobs.all,
        byState: jobs.byState,
        hasFilter,
        isLate,
        isUncounted: !jobs.isCounting,
      })
    : INVALID_FILTER;
  return (
    <Page
      title={sentence.split(/[:.]/, 1)[0] ?? 'Jobs'}
      crumbs={[{ label: 'Jobs' }]}
      h1={sentence}
      lead={<Lead filter={filter} url={url} />}
      actions={
        <>
          <CompareChoice />
          <Link className="btn" href={attemptsPath()}>
            <Icon name="moving" />
            Attempts
          </Link>
          <button type="button" className="btn lo1" onClick={() => void copy(graphqlOf(filter, url), 'GraphQL query')}>
            <Icon name="copy" />
            Copy as GraphQL
          </button>
          <ExportButton list={isValid(filter) ? () => listToExport(filter, url) : null} />
        </>
      }
    >
      <div className="list-head">
        <FilterBox table={JOBS} filter={filter} onChange={setFilter} inputRef={input} isSearching={jobs.isSearching} />
        <Histogram
          filter={filter}
          url={url}
          // After the first rows, as with the counts.
          retentionSeconds={jobs.rows === undefined ? null : (server?.retentionSeconds ?? null)}
          onRange={(range) => set({ from: range?.from ?? null, to: range?.to ?? null })}
        />
      </div>
      <Failure result={jobs.page} what="This list" />
      <div className={peek === null ? 'split' : 'split peeking'}>
        <div>
          <BulkBar ticks={ticks} rows={rows} all={jobs.all} byState={jobs.byState} filter={filter} url={url} />
          <News news={jobs.news} onShow={release} />
          {jobs.rows === undefined || (rows.length === 0 && jobs.page.isPlaceholderData) ? (
            // A search that was refused has no rows, and the bar above says why.
            jobs.isSearching && <Skeleton lines={6} />
          ) : rows.length === 0 ? (
            <Nothing filter={filter} url={url} hint={jobs.hint} onFilter={setFilter} hasFilter={hasFilter} />
          ) : (
            <div className="panel list" onPointerMove={onPointerMove}>
              <JobsTable
                rows={rows}
                gone={goneOf(rows, gone, filter)}
                cursor={cursor}
                ticks={ticks}
                order={url.order}
                onOrder={(order) => set({ order })}
                from={listSearch}
                webhookTimeoutSeconds={server?.webhookTimeoutSeconds ?? 15}
                isDim={jobs.page.isPlaceholderData}
              />
              {jobs.pageInfo !== undefined && (
                <Pager
                  info={jobs.pageInfo}
                  pathTo={(at) => `/jobs${searchOf({ ...url, after: null, before: null, ...at })}`}
                  labels={url.order === 'newest' ? undefined : ['Previous', 'Next']}
                  summary={rangeText(url, rows.length, jobs.all)}
                />
              )}
            </div>
          )}
        </div>
        {peek !== null && (
          <Peek
            key={peek}
            id={peek}
            from={listSearch}
            paths={filter.flatMap((chip) => (chip.word === 'payload' ? [chip.value.path] : []))}
            onMove={move}
            onClose={() => set({ peek: null })}
          />
        )}
      </div>
    </Page>
  );
}

/** 1 to 50 of 812 */
function rangeText({ after, before }: ListUrl, shown: number, all: Count | null): string {
  const total = all === null ? '' : ` of ${count(all.count, all.exact)}`;
  return `${after === null && before === null ? '1 to ' : ''}${number(shown)}${total}`;
}

/** Dimmed: no longer in the list, or no longer in a state that the filter names. */
function goneOf(rows: readonly JobRow[], gone: ReadonlySet<string>, filter: JobsFilter): ReadonlySet<string> {
  return new Set([...gone, ...rows.flatMap((job) => (stillMatches(filter, job) ? [] : [job.id]))]);
}

function Lead({ filter, url }: { filter: JobsFilter; url: ListUrl }) {
  const zone = useStore(preferences, (all) => all.zone);
  const unknown = filter.find((chip) => chip.word === 'unknown');
  if (unknown !== undefined) return `${unknown.problem} Change or remove it.`;
  if (url.from !== null && url.to !== null) {
    const [from, to] = [url.from, url.to].map((at) => exactTime(Date.parse(at), zone).replace(/\.\d+$/, ''));
    return `Published between ${from} and ${to}. Esc shows all times.`;
  }
  return {
    newest: 'Newest first.',
    oldest: 'Oldest first.',
    next: 'The next delivery first.',
    completed: 'Last completed first.',
    attempts: 'Most attempts first.',
  }[url.order];
}

function News({ news, onShow }: { news: Count | null; onShow: () => void }) {
  if (news === null || news.count === 0) return null;
  const show = () => {
    onShow();
    for (const name of ['JobsPage', 'JobsCount', 'JobsByState', 'JobsHistogram']) {
      void queryClient.invalidateQueries({ queryKey: [name] });
    }
  };
  return (
    <div className="news">
      <button type="button" onClick={show}>
        {news.exact
          ? many(news.count, 'new job matches', 'new jobs match')
          : `${count(news.count, false)} new jobs match`}
        . Show {news.count === 1 ? 'it' : 'them'}
      </button>
    </div>
  );
}

function Nothing(props: {
  filter: JobsFilter;
  url: ListUrl;
  hint: string | null;
  onFilter: (filter: JobsFilter) => void;
  hasFilter: boolean;
}) {
  if (props.filter.length > 0) {
    return (
      <Suspense fallback={<Empty title="Nothing matches." />}>
        <NothingMatches {...props} />
      </Suspense>
    );
  }
  if (props.hasFilter) return <Empty title="Nothing was published in this range." />;
  return <Empty title="No jobs yet.">Jobs appear here as soon as they are published.</Empty>;
}

/** In an order that a job keeps while others change, so that no row comes twice. */
function listToExport(filter: JobsFilter, url: ListUrl): ReturnType<NonNullable<ListToExport>> {
  const isOldest = url.order === 'oldest';
  return {
    of: 'jobs',
    filter: formatFilter(JOBS, filter),
    order: isOldest ? 'oldest first' : 'newest first',
    variables: { filter: jobFilterOf(filter, url), order: ORDERS[isOldest ? 'oldest' : 'newest'] },
  };
}

function graphqlOf(filter: JobsFilter, url: ListUrl): string {
  const variables = { filter: jobFilterOf(filter, url), order: ORDERS[url.order], first: 50 };
  return `${textOf(JobsPage)}\n# Variables: ${JSON.stringify(variables)}`;
}
