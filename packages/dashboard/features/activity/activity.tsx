import './activity.css';
import type { ReactNode } from 'preact/compat';
import { Link, useLocation, useSearchParams } from 'wouter-preact';
import {
  ACTIVITY,
  type ActivityFilter,
  activityPath,
  foldsSignIns,
  GROUPS,
  SINCE,
  toChanges,
} from '../../../query/filter/activity.ts';
import { chipsOf, fieldsIn, formatFilter } from '../../../query/filter/engine.ts';
import { TIMES } from '../../../query/filter/kinds.ts';
import type { Filter as Chips } from '../../../query/filter/table.ts';
import { serverNow } from '../../base/clock.ts';
import { useView } from '../../base/time.ts';
import { Choice, ConditionChip } from '../../parts/choice.tsx';
import { ExportButton } from '../../parts/export/export-button.tsx';
import { Page } from '../../parts/page/page.tsx';
import { useWalk } from '../../parts/page/walk.ts';
import { Pager } from '../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Phrase } from '../../parts/time.tsx';
import { useCalmList, useHeld } from '../../parts/use-calm-order.ts';
import { ACTIONS, labelOfAction, sentenceOfEntry, wordsOfAction } from '../../words/audit.ts';
import { phrase } from '../../words/phrase.ts';
import { RELEASE } from '../../words/queue-actions.ts';
import { Entries } from './entries.tsx';
import { folded, isRun, lineOfRun, targetOf } from './model/audit.ts';
import type { ActivityEntry, ActivityPage } from './operations.ts';
import { useActivity } from './use-activity.ts';

type ActivityChips = Chips<typeof ACTIVITY>;

export default function Activity() {
  const [params] = useSearchParams();
  const filter = fieldsIn(ACTIVITY, params);
  const result = useActivity(filter, { after: params.get('after'), before: params.get('before') });
  const list = result.data?.changes;
  useWalk();
  const { isHeld, handlers } = useHeld();
  const between = result.data?.between ?? [];
  const orderOf = ({ at, id }: ActivityEntry) => `${at} ${id}`;
  const all = [...(list?.nodes ?? []), ...between].sort((a, b) => (orderOf(a) < orderOf(b) ? 1 : -1));
  const entries = useCalmList(all, isHeld);
  const pathTo = (place: { after: string } | { before: string }) => activityPath(filter, place);
  const isFiltered = Object.values(filter).some((value) => value !== null);
  return (
    <Head list={list} filter={filter} none={list === undefined ? 'Activity' : noneOf(isFiltered, between)}>
      <Filter filter={filter} newest={list?.nodes[0]} />
      <Failure result={result} what="The activity" />
      {list === undefined && result.isLoading && <Skeleton lines={6} />}
      {list !== undefined && all.length === 0 && <Nothing isFiltered={isFiltered} />}
      {list !== undefined && all.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined} {...handlers}>
          <Entries
            entries={entries}
            filter={filter}
            isCut={result.data?.isCut === true}
            ends={[
              list.pageInfo.hasPreviousPage ? list.nodes[0] : undefined,
              list.pageInfo.hasNextPage ? list.nodes.at(-1) : undefined,
            ]}
          />
          <Pager info={list.pageInfo} pathTo={pathTo} />
        </div>
      )}
    </Head>
  );
}

function noneOf(isFiltered: boolean, between: readonly ActivityEntry[]): string {
  if (between.some(({ action }) => action === RELEASE)) return 'Another release, but no change by people.';
  if (between.length > 0) return 'No changes, only sign-ins.';
  return isFiltered ? 'No changes match.' : 'Activity';
}

function Head({
  list,
  filter,
  none,
  children,
}: {
  list: ActivityPage | undefined;
  filter: ActivityFilter;
  /** The first line if there is no change. */
  none: string;
  children: ReactNode;
}) {
  const newest = list?.nodes[0];
  return (
    <Page
      title="Activity"
      crumbs={[{ label: 'Activity' }]}
      sign={
        newest === undefined
          ? { icon: 'activity', signal: 'idle' }
          : { icon: wordsOfAction(newest.action).icon, signal: 'idle' }
      }
      h1={
        newest === undefined ? (
          none
        ) : list?.pageInfo.hasPreviousPage === false ? (
          <Newest list={list} entry={newest} />
        ) : (
          'Earlier changes.'
        )
      }
      lead="Every change of settings and every action on jobs, by key or person. Publishes and worker reports are shown on each job."
      actions={
        <ExportButton
          list={() => {
            const { groups, ...result } = toChanges(filter, serverNow());
            return {
              of: 'activity',
              filter: formatFilter(ACTIVITY, chipsOf(filter) as ActivityChips),
              // Folded sign-ins are in the list, too.
              variables: foldsSignIns(filter) ? result : { ...result, groups },
            };
          }}
        />
      }
    >
      {children}
    </Page>
  );
}

/** The newest change: of many queues, if it is one action. */
function Newest({ list: { nodes, pageInfo }, entry }: { list: ActivityPage; entry: ActivityEntry }) {
  const view = useView();
  const [run] = folded(nodes, false);
  if (run === undefined || !isRun(run)) return <Phrase pieces={sentenceOfEntry(entry, view)} />;
  const at = Date.parse(entry.at);
  const { what, when } = lineOfRun(run, view, pageInfo.hasNextPage && run.length === nodes.length);
  return <Phrase pieces={phrase`${what} at ${{ at, text: when }}.`} />;
}

function Filter({ filter, newest }: { filter: ActivityFilter; newest: ActivityEntry | undefined }) {
  const { group, action, target, actor, since, at } = filter;
  const [, navigate] = useLocation();
  const set = (change: Partial<ActivityFilter>) => navigate(activityPath(filter, change));
  const name = newest !== undefined && newest.targetId === target ? (targetOf(newest).name ?? target) : target;
  return (
    <div className="toolbar choices">
      <Choice
        label="Group"
        value={group}
        onChange={(next) => set({ group: next as ActivityFilter['group'], action: null })}
        options={[['', 'all changes'], ...Object.entries(GROUPS).map(([one, { label }]) => [one, label] as const)]}
      />
      <Choice
        label="What"
        value={action}
        onChange={(next) => set({ action: next, group: null })}
        options={[
          ['', 'every change'],
          ...Object.entries(ACTIONS).map(([one, words]) => [one, labelOfAction(words)] as const),
        ]}
      />
      <Choice
        label="When"
        value={since}
        onChange={(next) => set({ since: next as ActivityFilter['since'], at: null })}
        options={[['', 'any time'], ...Object.entries(SINCE).map(([one, { label }]) => [one, label] as const)]}
      />
      {target !== null && <ConditionChip word="of" value={name ?? ''} to={activityPath(filter, { target: null })} />}
      {at !== null && <ConditionChip word="at" value={TIMES.label(at)} to={activityPath(filter, { at: null })} />}
      {actor !== null && <ConditionChip word="by" value={actor} to={activityPath(filter, { actor: null })} />}
    </div>
  );
}

function Nothing({ isFiltered }: { isFiltered: boolean }) {
  if (!isFiltered) return <Empty title="Nothing has been changed yet" icon="activity" />;
  return (
    <Empty title="No changes match" icon="activity">
      <Link className="btn tiny" href="/activity">
        Show all changes
      </Link>
    </Empty>
  );
}
