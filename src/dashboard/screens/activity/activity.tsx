import './activity.css';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';
import { type ActivityEntry, Activity as ActivityOperation } from '../../graphql/operations/service.ts';
import { keepOld, query } from '../../graphql/query.ts';
import { useIsPaused } from '../../live/live.ts';
import { DEEDS, sentenceOfEntry, targetOf, wordsOfDeed } from '../../model/audit.ts';
import { toSearch } from '../../model/filter/search.ts';
import { Icon } from '../../parts/icon.tsx';
import { Pager } from '../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Phrase } from '../../parts/time.tsx';
import { Page } from '../../shell/page.tsx';
import { useWalk } from '../../shell/walk.ts';
import { useView } from '../../time.ts';
import { useCalmList, useHeld } from '../queues/calm-order.ts';
import { Entries } from './entries.tsx';

const PAGE = 50;
/** Changes do not come by the live stream. */
const AGAIN_MS = 30_000;

export default function Activity() {
  const [params] = useSearchParams();
  const [action, target] = [params.get('action'), params.get('target')];
  const [after, before] = [params.get('after'), params.get('before')];
  const isPaused = useIsPaused();
  const asked = useQuery({
    ...query(ActivityOperation, {
      action,
      targetId: target,
      ...(before === null ? { first: PAGE, after } : { last: PAGE, before }),
    }),
    ...keepOld,
    refetchInterval: isPaused ? false : AGAIN_MS,
  });
  const list = asked.data?.auditLog;
  useWalk();
  const { isHeld, handlers } = useHeld();
  const entries = useCalmList(list?.nodes ?? [], isHeld);
  const pathTo = (place: Record<string, string>) => `/activity${toSearch({ action, target, ...place })}`;
  return (
    <Head
      newest={list?.nodes[0]}
      isFirstPage={list?.pageInfo.hasPreviousPage !== true}
      isFiltered={action !== null || target !== null}
    >
      <Filter action={action} target={target} newest={list?.nodes[0]} />
      <Failure asked={asked} what="The activity" />
      {list === undefined && asked.isLoading && <Skeleton lines={6} />}
      {list?.nodes.length === 0 && <Nothing isFiltered={action !== null || target !== null} />}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={asked.isPlaceholderData ? 'dim' : undefined} {...handlers}>
          <Entries entries={entries} />
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
  children,
}: {
  newest: ActivityEntry | undefined;
  isFirstPage: boolean;
  isFiltered: boolean;
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
    >
      {children}
    </Page>
  );
}

function Filter({
  action,
  target,
  newest,
}: {
  action: string | null;
  target: string | null;
  newest: ActivityEntry | undefined;
}) {
  const [, navigate] = useLocation();
  const name = newest !== undefined && newest.targetId === target ? (targetOf(newest).name ?? target) : target;
  return (
    <div className="toolbar activity-filter">
      <label htmlFor="deed" className="label">
        What
      </label>
      <select
        id="deed"
        className="input"
        value={action ?? ''}
        onChange={(event) => navigate(`/activity${toSearch({ action: event.target.value, target })}`)}
      >
        <option value="">every change</option>
        {Object.entries(DEEDS).map(([one, { label }]) => (
          <option key={one} value={one}>
            {label}
          </option>
        ))}
      </select>
      {target !== null && (
        <span className="chip">
          <span>
            <span className="k">of</span> <span className="v">{name}</span>
          </span>
          <Link href={`/activity${toSearch({ action })}`} aria-label={`Remove of ${name}`}>
            <Icon name="x" />
          </Link>
        </span>
      )}
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
