import './jobs.css';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { textOf } from '../../graphql/graphql.ts';
import type { JobRow } from '../../graphql/operations/fragments.ts';
import { JobsPage } from '../../graphql/operations/jobs.ts';
import { queryClient } from '../../graphql/query.ts';
import { type Filter, isValid } from '../../model/filter/chips.ts';
import { stillMatches } from '../../model/filter/matches.ts';
import { exactTime, many, number } from '../../model/format.ts';
import { sentenceOfJobs } from '../../model/jobs-sentence.ts';
import { copy } from '../../parts/copy.tsx';
import { useMedia } from '../../parts/crossing.tsx';
import { FilterBox } from '../../parts/filter-box.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { preferences } from '../../preferences.ts';
import { Page } from '../../shell/page.tsx';
import { useServer } from '../../shell/server.ts';
import { useStore } from '../../store.ts';
import { rememberList } from '../job/last-list.ts';
import { BulkBar } from './bulk-bar.tsx';
import { Histogram } from './histogram.tsx';
import { JobsTable } from './jobs-table.tsx';
import { jobFilterOf, type ListUrl, ORDERS, useListUrl } from './list-url.ts';
import { NothingMatches } from './nothing.tsx';
import { Pager } from './pager.tsx';
import { useJobs } from './use-jobs.ts';
import { useListKeys } from './use-list-keys.ts';
import { useFrozenRows } from './use-rows.ts';
import { useTicks } from './use-ticks.ts';

const Peek = lazy(() => import('./peek.tsx'));
/** A phone has no room for a peek: the row opens the job. */
const PHONE = '(max-width: 45.99rem)';

/** Which jobs match, and what can I do with them? */
export default function Jobs() {
  const { url, filter, search, set, setFilter } = useListUrl();
  const server = useServer();
  const input = useRef<HTMLInputElement>(null);
  const jobs = useJobs(filter, url);
  const ticks = useTicks();
  const [cursor, setCursor] = useState<string | null>(null);
  const isPhone = useMedia(PHONE);
  const peek = isPhone ? null : url.peek;
  const pageKey = `${url.q} ${url.order} ${url.after} ${url.before} ${url.from}`;
  const isHeld = ticks.ids.size > 0 || ticks.isAll || peek !== null;
  const { rows, gone, onPointerMove } = useFrozenRows(jobs.rows, pageKey, isHeld);
  const ids = rows.map(({ id }) => id);
  const listSearch = search.replace(/[?&]peek=[^&]*/, '');
  const [, navigate] = useLocation();

  const { clear } = ticks;
  useEffect(clear, [url.q, clear]);
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

  const hasFilter = filter.length > 0 || url.from !== null;
  const sentence = isValid(filter)
    ? jobs.all === null
      ? 'Jobs'
      : sentenceOfJobs(jobs.all, jobs.byState, hasFilter)
    : 'This filter has a condition that is not known.';
  return (
    <Page
      title={sentence.split(/[:.]/, 1)[0] ?? 'Jobs'}
      crumbs={[{ label: 'Jobs' }]}
      h1={sentence}
      lead={<Lead filter={filter} url={url} />}
      actions={
        <button type="button" className="btn lo1" onClick={() => void copy(graphqlOf(filter, url), 'GraphQL query')}>
          <Icon name="copy" />
          Copy as GraphQL
        </button>
      }
    >
      <div className="list-head">
        <FilterBox filter={filter} onChange={setFilter} inputRef={input} />
        {server !== null && (
          <Histogram
            filter={filter}
            url={url}
            retentionSeconds={server.retentionSeconds}
            onRange={(range) => set({ from: range?.from ?? null, to: range?.to ?? null })}
          />
        )}
      </div>
      <Failure asked={jobs.page} what="This list" />
      <div className={peek === null ? 'split' : 'split peeking'}>
        <div>
          <BulkBar ticks={ticks} rows={rows} all={jobs.all} filter={filter} url={url} />
          <News count={jobs.news} />
          {jobs.rows === undefined ? (
            isValid(filter) && <Skeleton lines={6} />
          ) : rows.length === 0 ? (
            <Nothing filter={filter} url={url} onFilter={setFilter} hasFilter={hasFilter} />
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
              <Pager url={url} shown={rows.length} all={jobs.all} pageInfo={jobs.pageInfo} onPage={set} />
            </div>
          )}
        </div>
        {peek !== null && (
          <Suspense fallback={<aside className="peek" aria-label="Job" />}>
            <Peek
              key={peek}
              id={peek}
              from={listSearch}
              paths={filter.flatMap((chip) => (chip.word === 'payload' ? [chip.path] : []))}
              onMove={move}
              onClose={() => set({ peek: null })}
            />
          </Suspense>
        )}
      </div>
    </Page>
  );
}

/** Dimmed: no longer in the list, or no longer in a state that the filter names. */
function goneOf(rows: readonly JobRow[], gone: ReadonlySet<string>, filter: Filter): ReadonlySet<string> {
  return new Set([...gone, ...rows.flatMap((job) => (stillMatches(filter, job) ? [] : [job.id]))]);
}

function Lead({ filter, url }: { filter: Filter; url: ListUrl }) {
  const zone = useStore(preferences, (all) => all.zone);
  const unknown = filter.find((chip) => chip.word === 'unknown');
  if (unknown?.word === 'unknown') return `${unknown.problem} Nothing is shown until it is changed or removed.`;
  if (url.from !== null && url.to !== null) {
    const [from, to] = [url.from, url.to].map((at) => exactTime(Date.parse(at), zone).replace(/\.\d+$/, ''));
    return `Published between ${from} and ${to}. Esc shows all times.`;
  }
  return {
    newest: 'Newest first.',
    oldest: 'Oldest first.',
    next: 'The next delivery first.',
    completed: 'Last completed first.',
  }[url.order];
}

function News({ count }: { count: { count: number; exact: boolean } | null }) {
  if (count === null || count.count === 0) return null;
  const show = () => {
    for (const name of ['JobsPage', 'JobsCount', 'JobsByState', 'JobsHistogram']) {
      void queryClient.invalidateQueries({ queryKey: [name] });
    }
  };
  return (
    <div className="news">
      <button type="button" onClick={show}>
        {count.exact
          ? many(count.count, 'new job matches', 'new jobs match')
          : `${number(count.count)}+ new jobs match`}
        . Show {count.count === 1 ? 'it' : 'them'}
      </button>
    </div>
  );
}

function Nothing(props: { filter: Filter; url: ListUrl; onFilter: (filter: Filter) => void; hasFilter: boolean }) {
  if (props.filter.length > 0) return <NothingMatches {...props} />;
  if (props.hasFilter) return <Empty title="Nothing was published in this range." />;
  return <Empty title="No job yet.">Jobs that are published show up here.</Empty>;
}

function graphqlOf(filter: Filter, url: ListUrl): string {
  const variables = { filter: jobFilterOf(filter, url), order: ORDERS[url.order], first: 50 };
  return `${textOf(JobsPage)}\n# Variables: ${JSON.stringify(variables)}`;
}
