import { useQuery } from '@tanstack/preact-query';
import { Suspense, useState } from 'preact/compat';
import { roleFor } from '../../../../query/words/rights.ts';
import { query } from '../../../api/query.ts';
import { useServer } from '../../../api/server.ts';
import { Only } from '../../../parts/page/only.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { useCalmOrder, useHeld } from '../../../parts/use-calm-order.ts';
import { textOfPhrase } from '../../../words/phrase.ts';
import { type FirstRunSteps, NewQueueLink } from '../list/new-queue.tsx';
import { QueuesSection } from '../list/queues-section.tsx';
import { type ListedQueue, useQueues, useTimelines } from '../list/use-queues.ts';
import {
  headlineOf,
  leadOfOverview,
  MAX_PROBLEMS,
  problemsOf,
  signOf,
  summaryOf,
  type Trouble,
  troublesOf,
  worstFirst,
} from '../model/overview.ts';
import { LastDelivery } from '../operations/queues.ts';
import { ChartChoices, useSpan } from '../parts/chart-choices.tsx';
import { MostFrequentDeaths } from './deaths.tsx';
import { Problems } from './problems.tsx';

const CRUMBS = [{ label: 'Overview' }];
const WHOLE_ACCOUNT = { search: '', after: null };

/** Is anything wrong now, and where? An account without a queue sees how to make the first one instead. */
export default function Overview({ FirstRun }: { FirstRun: FirstRunSteps }) {
  // Once the first queue is made, the steps stay until they are left.
  const [isFirstRun, setFirstRun] = useState(false);
  const queues = useQueues(WHOLE_ACCOUNT);
  const leave = () => {
    setFirstRun(false);
    // The first delivery is in the statistics by now.
    void queues.result.refetch();
  };
  if (queues.page === undefined) {
    return (
      <Page title="Overview" crumbs={CRUMBS} h1="Overview">
        <Failure result={queues.result} what="The list of queues" />
        <Skeleton lines={6} />
      </Page>
    );
  }
  if (isFirstRun || queues.page.totalCount === 0) {
    return (
      <Only needs={roleFor('createQueue')} what="create the first queue" title="No queues yet" crumbs={CRUMBS}>
        <Suspense fallback={null}>
          <FirstRun crumbs={CRUMBS} onCreated={() => setFirstRun(true)} onLeave={leave} isFirst />
        </Suspense>
      </Only>
    );
  }
  return <WithQueues queues={queues} page={queues.page} />;
}

type Queues = ReturnType<typeof useQueues>;

function WithQueues({
  queues: { result, states, recent, view },
  page,
}: {
  queues: Queues;
  page: NonNullable<Queues['page']>;
}) {
  const span = useSpan();
  const timelines = useTimelines(WHOLE_ACCOUNT, span);
  const { isHeld, handlers } = useHeld();
  useWalk();

  const sorted = worstFirst(states);
  const summary = summaryOf(states, page.totalCount);
  const isQuiet = summary.worst === null && !summary.moves;
  const last = useQuery({ ...query(LastDelivery, {}), enabled: isQuiet });
  const hasWorker = useServer()?.hasWorker;
  const headline = headlineOf(summary, last.data?.account.lastDeliveryAt, view, hasWorker);

  const troubles = troublesOf(problemsOf(sorted));
  const shown = useCalmOrder(
    troubles.slice(0, MAX_PROBLEMS).map(({ id }) => id),
    isHeld,
  );
  // While the list stands still, it may have a queue that is well again, or is now one of several.
  const byId = new Map<string, Trouble<ListedQueue>>([
    ...sorted.map((state): [string, Trouble<ListedQueue>] => [
      state.queue.id,
      { id: state.queue.id, host: '', states: [state] },
    ]),
    ...troubles.flatMap((trouble) =>
      trouble.states.map(({ queue }): [string, Trouble<ListedQueue>] => [queue.id, trouble]),
    ),
  ]);
  return (
    <Page
      title={textOfPhrase(headline.strong).replace(/[.:].*$/, '')}
      crumbs={CRUMBS}
      sign={signOf(summary, hasWorker)}
      h1={
        <>
          <Phrase pieces={headline.strong} />
          {headline.soft !== null && (
            <>
              {' '}
              <span className="soft">
                <Phrase pieces={headline.soft} />
              </span>
            </>
          )}
        </>
      }
      lead={<Phrase pieces={leadOfOverview(states, recent, summary, view)} />}
      actions={
        <>
          <ChartChoices />
          <NewQueueLink />
        </>
      }
    >
      <Failure result={result} what="The list of queues" />
      <div {...handlers}>
        <Problems
          troubles={[...new Set(shown.ids.flatMap((id) => byId.get(id) ?? []))]}
          hidden={troubles.slice(MAX_PROBLEMS).flatMap((trouble) => trouble.states).length}
        />
        <QueuesSection
          states={sorted}
          span={span}
          timelines={timelines}
          isHeld={isHeld}
          rest={page.totalCount - states.length}
        />
      </div>
      {timelines.deaths !== undefined && <MostFrequentDeaths groups={timelines.deaths} />}
    </Page>
  );
}
