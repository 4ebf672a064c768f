import { useQuery } from '@tanstack/preact-query';
import { useRef, useState } from 'preact/compat';
import { Link, useSearchParams } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import {
  conditionsInWords,
  conditionsOf,
  queueSearchOf,
  receiverWord,
  typedReceiver,
} from '../../../../query/filter/queue-search.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import { SearchReceivers, SuggestTags } from '../../../../query/schema/suggest.ts';
import { lowerFirst, number } from '../../../../query/words/format.ts';
import { keepOld, query } from '../../../api/query.ts';
import { May, useMay } from '../../../api/rights.ts';
import { useSettled } from '../../../base/use-settled.ts';
import { useTyped } from '../../../base/use-typed.ts';
import { useUniqueId } from '../../../base/use-unique-id.ts';
import { ExportButton } from '../../../parts/export/export-button.tsx';
import { MeantQueues } from '../../../parts/found-queues.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { useHeld } from '../../../parts/use-calm-order.ts';
import { useTicks } from '../../../parts/use-ticks.ts';
import { CONDITIONS } from '../model/condition-words.ts';
import { favouritesFirst, headlineOfList, worstFirst } from '../model/overview.ts';
import { ChartChoices, useSpan } from '../parts/chart-choices.tsx';
import { useFavourites } from '../parts/star.tsx';
import { QueuesBar } from '../several/several-buttons.tsx';
import { NEW_QUEUE, NewQueueLink } from './new-queue.tsx';
import { QueuesSection } from './queues-section.tsx';
import { PAGE, useQueues, useTimelines } from './use-queues.ts';

const CRUMBS = [{ label: 'Queues' }];

/** All queues: `?q=` searches, `?after=` turns the page. */
export function QueueList() {
  const [params] = useSearchParams();
  const search = params.get('q') ?? '';
  const after = params.get('after');
  const place = { search, after };
  const { result, page, states: all } = useQueues(place);
  const conditions = conditionsOf(search);
  const states = conditions === null ? all : all.filter(({ condition }) => conditions.includes(condition));
  const span = useSpan();
  const favourites = useFavourites();
  const timelines = useTimelines(place, span);
  const { isHeld, handlers } = useHeld();
  useWalk();
  const ticks = useTicks(`${search} ${after}`);
  const canTick = useMay('pauseQueues');

  // The rows of the last question must not be read as the answer to this one.
  const isOld = result.isPlaceholderData;
  const h1 = page === undefined || isOld ? 'Queues' : headline();
  function headline() {
    const total = page?.totalCount ?? 0;
    if (conditions === null) return headlineOfList(states, total, search);
    const text = headlineOfList(states, states.length, search);
    return total > all.length ? `Of the ${number(all.length)} queues on this page: ${lowerFirst(text)}` : text;
  }
  return (
    <Page
      title={h1.replace(/[.:].*$/, '')}
      crumbs={CRUMBS}
      h1={h1}
      actions={
        <>
          <Link className="btn" href="/receivers">
            Receivers
          </Link>
          <ChartChoices />
          {conditions === null && (
            <ExportButton list={() => ({ of: 'queues', filter: search, variables: { ...queueSearchOf(search) } })} />
          )}
          <NewQueueLink />
        </>
      }
    >
      <Failure result={result} what="The list of queues" />
      <SearchField search={search} isWaiting={result.isPlaceholderData} />
      {page === undefined && <Skeleton lines={6} />}
      {page !== undefined && states.length === 0 && <NoQueue search={search} />}
      {states.length > 0 && (
        <div {...handlers} className={isOld ? 'aging' : undefined}>
          <QueuesSection
            title={search === '' ? 'All queues' : 'Queues that match'}
            states={favouritesFirst(worstFirst(states), favourites)}
            span={span}
            timelines={timelines}
            isHeld={isHeld || ticks.ids.size > 0}
            ticks={canTick ? ticks : undefined}
          />
        </div>
      )}
      <QueuesBar ticks={ticks} queues={all.map(({ queue }) => queue)} />
      {page !== undefined && (after !== null || page.pageInfo.hasNextPage) && <Pager after={after} page={page} />}
    </Page>
  );
}

/** Time between the last key and the question. */
const TYPING_MS = 150;

function SearchField({ search, isWaiting }: { search: string; isWaiting: boolean }) {
  const [params, setParams] = useSearchParams();
  const [text, setText] = useTyped(
    search,
    (wanted) => {
      const next = new URLSearchParams(params);
      next.delete('after');
      if (wanted === '') next.delete('q');
      else next.set('q', wanted);
      setParams(next, { replace: true });
    },
    TYPING_MS,
  );
  const input = useRef<HTMLInputElement>(null);
  const [isTyping, setTyping] = useState(false);
  const tags = useQuery({ ...query(SuggestTags, { search: '' }), enabled: isTyping }).data?.queueTags ?? [];
  const hosts = useHosts(text);
  const offers = useUniqueId();
  useCommands([{ key: '/', label: 'Search queues', icon: 'search', run: () => input.current?.focus() }]);
  return (
    <search className="queue-search" aria-busy={isWaiting}>
      <Icon name="search" />
      <input
        ref={input}
        className="input"
        type="search"
        aria-label="Search queues by name, address, tag, receiver or condition"
        placeholder="Search by name, address, tag:, receiver: or is:"
        list={offers}
        onFocus={() => setTyping(true)}
        value={text}
        autoComplete="off"
        spellcheck={false}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape') return;
          event.preventDefault();
          if (text === '') event.currentTarget.blur();
          else setText('');
        }}
      />
      <datalist id={offers}>
        {conditionsInWords().map(([value, word]) => (
          <option key={word} value={value}>
            {word}
          </option>
        ))}
        {tags.map((tag) => (
          <option key={tag} value={`tag:${tag}`} />
        ))}
        {hosts.map((host) => (
          <option key={host} value={receiverWord(host)} />
        ))}
      </datalist>
      <kbd>/</kbd>
    </search>
  );
}

function NoQueue({ search }: { search: string }) {
  const [params] = useSearchParams();
  if (search === '') {
    return (
      <Empty title="No queues yet" icon="queues">
        <p>
          A queue defines where its jobs are delivered, how many at a time, and what happens when the receiver fails.
        </p>
        <May mutation="createQueue">
          <Link className="btn primary" href={NEW_QUEUE}>
            <Icon name="plus" />
            New queue
          </Link>
        </May>
      </Empty>
    );
  }
  const unknown = conditionsOf(search)?.find((one) => !Object.hasOwn(CONDITIONS, one));
  return (
    <Empty
      title={unknown === undefined ? `No queue matches “${search}”` : `There is no condition “${unknown}”`}
      icon="search"
    >
      {search.length > 2 &&
        conditionsInWords(search).map(([is, word]) => (
          <Link
            key={word}
            className="btn"
            href={`/queues${toSearch({ ...Object.fromEntries(params), q: is, after: null })}`}
          >
            Queues by condition: {word}
          </Link>
        ))}
      <MeantQueues text={search} href={queuePath} />
      <Link className="btn" href={`/queues${toSearch({ ...Object.fromEntries(params), q: null, after: null })}`}>
        Show all queues
      </Link>
    </Empty>
  );
}

function Pager({
  after,
  page,
}: {
  after: string | null;
  page: { totalCount: number; pageInfo: { endCursor: string | null; hasNextPage: boolean } };
}) {
  const [params] = useSearchParams();
  const to = (cursor: string | null) => `/queues${toSearch({ ...Object.fromEntries(params), after: cursor })}`;
  return (
    <nav className="pager" aria-label="Pages">
      <span>
        Pages of {PAGE}, worst first. {number(page.totalCount)} in all.
      </span>
      <span className="end">
        {after !== null && (
          <Link className="btn tiny" href={to(null)}>
            First page
          </Link>
        )}
        {page.pageInfo.hasNextPage && (
          <Link className="btn tiny" href={to(page.pageInfo.endCursor)}>
            Next page
            <Icon name="right" />
          </Link>
        )}
      </span>
    </nav>
  );
}

/** Hosts for the one that is being typed after `receiver:`. */
function useHosts(text: string): string[] {
  const typed = typedReceiver(useSettled(text));
  const result = useQuery({ ...query(SearchReceivers, { search: typed ?? '' }), ...keepOld, enabled: typed !== null });
  return typed === null ? [] : (result.data?.receivers.map(({ host }) => host) ?? []);
}
