import './activity.css';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { useIsPaused } from '../../api/live/live.ts';
import { keepOld, query } from '../../api/query.ts';
import { serverNow } from '../../base/clock.ts';
import { useView } from '../../base/time.ts';
import { ACTIVITY, type ActivityFilter, activityPath, SINCE, toChanges } from '../../filter/activity.ts';
import { chipsOf, fieldsIn, formatFilter } from '../../filter/engine.ts';
import type { Filter as Chips } from '../../filter/table.ts';
import { Choice, ConditionChip } from '../../parts/choice.tsx';
import { ExportButton } from '../../parts/export/export-button.tsx';
import { Page } from '../../parts/page/page.tsx';
import { useWalk } from '../../parts/page/walk.ts';
import { Pager } from '../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Phrase } from '../../parts/time.tsx';
import { useCalmList, useHeld } from '../../parts/use-calm-order.ts';
import { Entries } from './entries.tsx';
import { DEEDS, sentenceOfEntry, targetOf, wordsOfDeed } from './model/audit.ts';
import { type ActivityEntry, Activity as ActivityOperation } from './operations.ts';

type ActivityChips = Chips<typeof ACTIVITY>;

const PAGE = 50;
/** Changes do not come by the live stream. */
const AGAIN_MS = 30_000;

export default function Activity() {
  const [params] = useSearchParams();
  const filter = fieldsIn(ACTIVITY, params);
  const [after, before] = [params.get('after'), params.get('before')];
  const isPaused = useIsPaused();
  const asked = useQuery({
    ...query(
      ActivityOperation,
      () => ({
        ...toChanges(filter, serverNow()),
        ...(before === null ? { first: PAGE, after } : { last: PAGE, before }),
      }),
      { key: { ...filter, after, before } },
    ),
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
  const list = asked.data?.auditLog;
  useWalk();
  const { isHeld, handlers } = useHeld();
  const entries = useCalmList(list?.nodes ?? [], isHeld);
  const pathTo = (place: Record<string, string>) => activityPath(filter, place);
  const isFiltered = Object.values(filter).some((value) => value !== null);
  return (
    <Head
      newest={list?.nodes[0]}
      isFirstPage={list?.pageInfo.hasPreviousPage !== true}
      isFiltered={isFiltered}
      filter={filter}
    >
      <Filter filter={filter} newest={list?.nodes[0]} />
      <Failure asked={asked} what="The activity" />
      {list === undefined && asked.isLoading && <Skeleton lines={6} />}
      {list?.nodes.length === 0 && <Nothing isFiltered={isFiltered} />}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={asked.isPlaceholderData ? 'dim' : undefined} {...handlers}>
          <Entries entries={entries} filter={filter} />
          <Pager info={list.pageInfo} pathTo={pathTo} />
        </div>
      )}
    </Head>
  );
}

function Head({
  newest,
  isFirstPage,
  isFiltered,
  filter,
  children,
}: {
  newest: ActivityEntry | undefined;
  isFirstPage: boolean;
  isFiltered: boolean;
  filter: ActivityFilter;
  children: ReactNode;
}) {
  const view = useView();
  return (
    <Page
      title="Activity"
      crumbs={[{ label: 'Activity' }]}
      sign={
        newest === undefined
          ? { icon: 'activity', signal: 'idle' }
          : { icon: wordsOfDeed(newest.action).icon, signal: 'idle' }
      }
      h1={
        newest === undefined ? (
          isFiltered ? (
            'No change matches.'
          ) : (
            'Activity'
          )
        ) : isFirstPage ? (
          <Phrase pieces={sentenceOfEntry(newest, view)} />
        ) : (
          'Earlier changes.'
        )
      }
      lead="Every change of settings and every deed on jobs, by key or person. Publishing and reports of workers are in the jobs themselves."
      actions={
        <ExportButton
          list={() => ({
            ...{ of: 'activity', filter: formatFilter(ACTIVITY, chipsOf(filter) as ActivityChips) },
            variables: toChanges(filter, serverNow()) as Record<string, unknown>,
          })}
        />
      }
    >
      {children}
    </Page>
  );
}

function Filter({ filter, newest }: { filter: ActivityFilter; newest: ActivityEntry | undefined }) {
  const { action, target, actor, since } = filter;
  const [, navigate] = useLocation();
  const set = (change: Partial<ActivityFilter>) => navigate(activityPath(filter, change));
  const name = newest !== undefined && newest.targetId === target ? (targetOf(newest).name ?? target) : target;
  return (
    <div className="toolbar choices">
      <Choice
        label="What"
        value={action}
        onChange={(next) => set({ action: next })}
        options={[['', 'every change'], ...Object.entries(DEEDS).map(([one, { label }]) => [one, label] as const)]}
      />
      <Choice
        label="When"
        value={since}
        onChange={(next) => set({ since: next as ActivityFilter['since'] })}
        options={[['', 'any time'], ...Object.entries(SINCE).map(([one, { label }]) => [one, label] as const)]}
      />
      {target !== null && <ConditionChip word="of" value={name ?? ''} to={activityPath(filter, { target: null })} />}
      {actor !== null && <ConditionChip word="by" value={actor} to={activityPath(filter, { actor: null })} />}
    </div>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <Empty title="Nothing has been changed yet" icon="activity" />;
  return (
    <Empty title="No change matches" icon="activity">
      <Link className="btn tiny" href="/activity">
        Every change
      </Link>
    </Empty>
  );
}
