import './dead-letters.css';
import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useRef, useState } from 'preact/compat';
import { Link, useLocation, useSearchParams } from 'wouter-preact';
import type { ListToExport } from '../../../query/export/run.ts';
import { DEAD_LETTERS, isReplayable } from '../../../query/filter/dead-letters.ts';
import { INVALID_FILTER, isValid } from '../../../query/filter/engine.ts';
import { textOf } from '../../../query/schema/graphql.ts';
import { count, time } from '../../../query/words/format.ts';
import { useIsPaused } from '../../api/live/live.ts';
import { keepOld, query } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { useServer, useWebhookTimeout } from '../../api/server.ts';
import { useView } from '../../base/time.ts';
import type { ReplayTarget } from '../../parts/bulk/replay-target.ts';
import { copy } from '../../parts/copy.tsx';
import { ExportButton } from '../../parts/export/export-button.tsx';
import { FilterBox } from '../../parts/filter/filter-box.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../parts/page/keys.ts';
import { late } from '../../parts/page/late.tsx';
import { Page } from '../../parts/page/page.tsx';
import { Failure, Skeleton, useIsLate } from '../../parts/states.tsx';
import { Phrase } from '../../parts/time.tsx';
import type { Phrase as Pieces } from '../../words/phrase.ts';
import { releaseEntries } from '../../words/queue-actions.ts';
import { CauseList } from './causes.tsx';
import { causesToShow, headOfCauses, leadOfCause } from './model/cause.ts';
import { NoCauses } from './no-causes.tsx';
import { OneByOne } from './one-by-one.tsx';
import { type CauseRow, Causes, DeadLetters as DeadLettersPage } from './operations.ts';
import { targetOfAll, targetOfCause } from './targets.ts';
import { deadPath, useDeadFilter } from './use-dead-filter.ts';

const ReplayDialog = late(() => import('../../parts/bulk/replay-dialog.tsx'));

/** Dead letters do not come by the live stream. */
const AGAIN_MS = 30_000;

/** Dismissed causes are a list of their own: nothing of the one is shown while the other loads. */
export default function DeadLetters() {
  const isDismissed = useSearchParams()[0].get('dismissed') !== null;
  return <List key={String(isDismissed)} isDismissed={isDismissed} />;
}

function List({ isDismissed }: { isDismissed: boolean }) {
  const url = useDeadFilter();
  const { filter, tab, forApi, key, setFilter } = url;
  const [target, setTarget] = useState<ReplayTarget | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const isPaused = useIsPaused();
  const isByAnswer = tab === 'answers';
  const [, navigate] = useLocation();
  const webhookTimeoutSeconds = useWebhookTimeout();
  // A replay selects the same dead letters that the page counts.
  const shown = () => ({ ...forApi?.(), ...(tab !== 'all' && { dismissed: isDismissed }) });
  const result = useQuery({
    ...query(Causes, () => ({ filter: shown(), by: isByAnswer ? ('ANSWER' as const) : ('ERROR' as const) }), {
      key: [key, tab, isDismissed],
    }),
    ...keepOld,
    enabled: forApi !== null,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
  const { data } = result;
  const { causes, isAll } = causesToShow(data?.errorGroups ?? []);
  const isSearching = forApi !== null && !result.isError && (data === undefined || result.isPlaceholderData);
  const isLate = useIsLate(isSearching);
  const hasDismissed = (data?.dismissals.length ?? 0) > 0;
  const leavesOut = hasDismissed && !isDismissed && tab !== 'all';
  const dismissed = useQuery({
    ...query(DeadLettersPage, () => ({ filter: { ...forApi?.(), dismissed: true }, first: 1 }), {
      key: ['dismissed', key],
    }),
    enabled: forApi !== null && leavesOut,
    refetchInterval: isPaused ? false : AGAIN_MS,
  }).data?.deadLetters;
  const copyQuery = () => void copy(queryText(shown()), 'Query');
  const list: ListToExport =
    forApi === null
      ? null
      : () => ({
          of: tab === 'all' ? 'dead-letters' : 'causes',
          filter: key,
          variables: { filter: shown(), ...(tab !== 'all' && { by: isByAnswer ? 'ANSWER' : 'ERROR' }) },
        });
  const replay = (cause: CauseRow) => {
    if (forApi !== null) setTarget(targetOfCause(cause, shown(), { isByAnswer, webhookTimeoutSeconds }));
  };
  const canReplay = forApi !== null && isReplayable(filter) && causes.length > 0;
  const replayAll = () => {
    if (forApi !== null) setTarget(targetOfAll(causes, shown()));
  };
  useCommands([
    { key: '/', label: 'Filter', icon: 'search', run: () => input.current?.focus(), isOnlyKey: true },
    ...(canReplay
      ? [{ label: 'Replay all that match', icon: 'undo', run: replayAll, mutation: 'replayDeadLetters' } as const]
      : []),
    { label: 'Copy as GraphQL', icon: 'copy', run: copyQuery },
  ]);
  const nothing = data !== undefined && (
    <NoCauses
      unknown={url.unknown}
      filter={filter}
      newestAt={isDismissed || hasDismissed ? null : (data.newest.nodes[0]?.deadAt ?? null)}
      hint={data.oldest.hint}
    />
  );
  return (
    <Head
      // The causes of the last filter must not be read as those of this one.
      causes={isSearching || data === undefined ? undefined : causes}
      isAll={isAll}
      isLate={isLate}
      isDefault={key === ''}
      isReadable={isValid(filter)}
      newestAt={data?.newest.nodes[0]?.deadAt ?? null}
      onReplay={canReplay ? replayAll : null}
      isDismissed={isDismissed}
      hasDismissed={hasDismissed}
      dismissed={leavesOut && dismissed !== undefined && dismissed.totalCount > 0 ? dismissed : null}
      onCopy={copyQuery}
      list={list}
    >
      <div className="toolbar dead-tools">
        <FilterBox
          table={DEAD_LETTERS}
          filter={filter}
          onChange={setFilter}
          inputRef={input}
          isSearching={isSearching}
        />
        <nav className="seg" aria-label="Grouping">
          <Link href={deadPath(filter, 'causes')} aria-current={tab === 'causes' && !isDismissed ? 'page' : undefined}>
            By cause
          </Link>
          {(isDismissed || hasDismissed) && (
            <Link href={deadPath(filter, 'causes', { dismissed: '1' })} aria-current={isDismissed ? 'page' : undefined}>
              Dismissed
            </Link>
          )}
          <Link href={deadPath(filter, 'answers')} aria-current={tab === 'answers' ? 'page' : undefined}>
            By answer
          </Link>
          <Link href={deadPath(filter, 'all')} aria-current={tab === 'all' ? 'page' : undefined}>
            One by one
          </Link>
        </nav>
      </div>
      <Problems url={url} />
      <Failure result={url.lookUp} what="The queue of the filter" />
      <Failure result={result} what="Dead letters" />
      {data === undefined && result.isLoading && <Skeleton lines={5} />}
      {data !== undefined &&
        (tab === 'all' ? (
          <OneByOne url={url} nothing={nothing} />
        ) : causes.length === 0 ? (
          nothing
        ) : (
          <div className={result.isPlaceholderData ? 'dim' : undefined}>
            <CauseList
              causes={causes}
              releases={releaseEntries(data.releases)}
              listKey={`${key} ${isByAnswer}`}
              filter={filter}
              isByAnswer={isByAnswer}
              isDismissed={isDismissed}
              onReplay={replay}
            />
          </div>
        ))}
      {causes.length > 0 && <Retention createdAt={data?.oldest.nodes[0]?.job?.createdAt} />}
      {target !== null && (
        <ReplayDialog target={target} onStarted={(id) => navigate(`/actions/${id}`)} onClose={() => setTarget(null)} />
      )}
    </Head>
  );
}

const dismissedSentence = (causes: number, isAll: boolean) =>
  causes === 0
    ? 'No dismissed causes are left.'
    : `${count(causes, isAll)} ${causes === 1 ? 'cause is dismissed. It' : 'causes are dismissed. Each'} returns when another job dies of it.`;

const queryText = (filter: object) => `${textOf(Causes)}\n# Variables:\n${JSON.stringify({ filter }, null, 2)}\n`;

/** A component of its own, as it steps once a second. */
function Head({
  causes,
  isAll,
  isLate,
  isDefault,
  isReadable,
  newestAt,
  onReplay,
  isDismissed,
  hasDismissed,
  dismissed,
  onCopy,
  list,
  children,
}: {
  causes: readonly CauseRow[] | undefined;
  /** False if there are more. */
  isAll: boolean;
  /** Whether they are waited for for a while. */
  isLate: boolean;
  isDefault: boolean;
  isReadable: boolean;
  newestAt: string | null;
  /** It is null if nothing that matches can be replayed. */
  onReplay: (() => void) | null;
  /** Whether the list is that of dismissed causes, and whether there are any. */
  isDismissed: boolean;
  hasDismissed: boolean;
  /** How many dead letters the list leaves out, as their causes are dismissed; null if none. */
  dismissed: { totalCount: number; totalCountExact: boolean } | null;
  onCopy: () => void;
  list: ListToExport;
  children: ReactNode;
}) {
  const view = useView();
  const timeout = useWebhookTimeout();
  const { first, more, lead } = headOf(causes);
  function headOf(all: readonly CauseRow[] | undefined): { first: string; more: string; lead: Pieces | null } {
    if (!isReadable) return { first: INVALID_FILTER, more: '', lead: null };
    if (all === undefined) return { first: isLate ? 'Searching…' : 'Dead letters', more: '', lead: null };
    if (isDismissed) return { first: dismissedSentence(all.length, isAll), more: '', lead: null };
    if (all.length > 0) {
      const head = headOfCauses(all, { isAll, isDefault, view });
      const [largest] = [...all].sort((a, b) => b.count - a.count);
      return { ...head, lead: head.more === '' || largest === undefined ? null : leadOfCause(largest, timeout, view) };
    }
    if (!isDefault) return { first: 'No dead letter matches.', more: '', lead: null };
    const since = newestAt === null ? '' : `The last job died at ${time(Date.parse(newestAt), view)}.`;
    return {
      first:
        newestAt === null
          ? 'No dead letters.'
          : `All clear: every dead job has been replayed${hasDismissed ? ' or dismissed' : ''}.`,
      more: since,
      lead: null,
    };
  }
  const sum = causes?.reduce((total, cause) => total + cause.count, 0) ?? 0;
  const isWell = causes?.length === 0 && isDefault;
  return (
    <Page
      title={causes === undefined ? 'Dead letters' : `${count(sum, isAll)} dead letters`}
      crumbs={[{ label: 'Dead letters' }]}
      sign={isWell ? { icon: 'done', signal: 'ok' } : { icon: 'dead', signal: sum > 0 ? 'bad' : 'idle' }}
      h1={
        <>
          {first}
          {more !== '' && <span className="soft"> {more}</span>}
          {dismissed !== null && (
            <span className="soft">
              {' '}
              {count(dismissed.totalCount, dismissed.totalCountExact)} more {dismissed.totalCount === 1 ? 'is' : 'are'}{' '}
              dismissed.
            </span>
          )}
        </>
      }
      lead={lead === null ? undefined : <Phrase pieces={lead} />}
      actions={
        <>
          {onReplay !== null && (
            <May mutation="replayDeadLetters">
              <button type="button" className="btn" onClick={onReplay}>
                <Icon name="undo" />
                Replay all…
              </button>
            </May>
          )}
          <button type="button" className="btn lo1" onClick={onCopy}>
            <Icon name="copy" />
            Copy as GraphQL
          </button>
          <ExportButton list={list} />
        </>
      }
    >
      {children}
    </Page>
  );
}

/** Shows the problems of chips that are no condition. The list is not read then, as it would show too much. */
function Problems({ url: { filter } }: { url: ReturnType<typeof useDeadFilter> }) {
  const problems = filter.flatMap((chip) => (chip.word === 'unknown' ? [`${chip.text}: ${chip.problem}`] : []));
  return problems.map((problem) => (
    <p key={problem} className="small trouble dead-problem" role="alert">
      {problem}
    </p>
  ));
}

function Retention({ createdAt }: { createdAt: string | undefined }) {
  const server = useServer();
  const view = useView();
  if (server === null) return null;
  const kept = server.retentionSeconds * 1000;
  const days = Math.round(server.retentionSeconds / 86_400);
  const goesAt = createdAt === undefined ? null : Date.parse(createdAt) + kept;
  return (
    <p className="pager">
      <span>
        Dead letters are kept for {days === 1 ? 'a day' : `${days} days`} after the job was published.
        {goesAt !== null && ` The oldest is deleted at ${time(goesAt, view)}.`}
      </span>
    </p>
  );
}
