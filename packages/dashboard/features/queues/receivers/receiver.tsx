import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useCallback, useMemo, useRef } from 'preact/compat';
import { Link, useSearchParams } from 'wouter-preact';
import { deadPath, jobsPath } from '../../../../query/filter/links.ts';
import { receiverWord } from '../../../../query/filter/queue-search.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import { answersOf } from '../../../../query/words/answers.ts';
import { many, NONE, number, percent, took } from '../../../../query/words/format.ts';
import { useLiveObjects } from '../../../api/live/live.ts';
import { query, queryClient } from '../../../api/query.ts';
import { May, useMay } from '../../../api/rights.ts';
import { useShell, useWebhookTimeout } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { toastFailure } from '../../../parts/toast.tsx';
import { useHeld } from '../../../parts/use-calm-order.ts';
import { useTicks } from '../../../parts/use-ticks.ts';
import { Spark } from '../list/queue-table.tsx';
import { QueuesSection } from '../list/queues-section.tsx';
import { PAGE, useQueues, useTimelines } from '../list/use-queues.ts';
import { worstFirst } from '../model/overview.ts';
import { sumOfDead } from '../model/queue-row.ts';
import {
  failingOf,
  lastAccepted,
  noteStates,
  partText,
  sentenceOfReceiver,
  signOfReceiver,
  spanText,
  stoppedText,
} from '../model/receiver.ts';
import { sparkSentence } from '../model/spark.ts';
import { sumOfPoints } from '../model/timeline.ts';
import { type ReceiverOfPage, ReceiverPage } from '../operations/receivers.ts';
import { ChartChoices, useSpan } from '../parts/chart-choices.tsx';
import { Fact } from '../parts/fact.tsx';
import { QueuesBar, SeveralButtons } from '../several/several-buttons.tsx';

const crumbsOf = (host: string) => [
  { label: 'Queues', to: '/queues' },
  { label: 'Receivers', to: '/receivers' },
  { label: host },
];
/** Counts of attempts may be so old. */
const EVERY_MS = 15_000;
/** Changes of many queues come in many messages. */
const CHANGES_MS = 400;

/** A host to which queues deliver: does it accept what is sent? */
export default function Receiver({ params }: { params: Record<string, string> }) {
  // The router leaves an encoded colon as it is.
  const host = (params.host ?? '').replace(/%3A/i, ':').toLowerCase();
  const result = useQuery({ ...query(ReceiverPage, { host }), refetchInterval: EVERY_MS });
  useChanges();
  const receiver = result.data?.receiver;
  const view = useView();
  const timeout = useWebhookTimeout();
  const h1 =
    receiver === undefined
      ? host
      : receiver === null
        ? `No queue delivers to ${host}.`
        : sentenceOfReceiver(receiver, view);
  return (
    <Page
      title={h1.replace(/\.$/, '')}
      crumbs={crumbsOf(host)}
      h1={h1}
      lead={partText(useShell()?.queues.totalCount)}
      {...(receiver == null ? {} : { sign: signOfReceiver(receiver) })}
      actions={
        receiver != null && (
          <>
            <ChartChoices />
            <May mutation="checkReceiver">
              <button type="button" className="btn" onClick={() => check(host, timeout)}>
                Check
              </button>
            </May>
            <SeveralButtons
              choice={{ receiver: host }}
              chosen={receiver.queueCount}
              isLinked
              onDone={() => void result.refetch()}
            />
          </>
        )
      }
    >
      <Failure result={result} what="This receiver" />
      {receiver === undefined && <Skeleton lines={6} />}
      {receiver === null && (
        <Empty title="Not the host of a queue’s webhook" icon="search">
          <Link className="btn" href="/receivers">
            Show all receivers
          </Link>
        </Empty>
      )}
      {receiver != null && <FactsAndQueues receiver={receiver} />}
    </Page>
  );
}

/**
 * Asks again when a queue is paused, resumed, held or fails: by an action here, its undo, in another tab, or by itself.
 */
function useChanges(): void {
  const known = useRef(new Map<string, string>());
  const isDue = useRef(false);
  const listener = useCallback((objects: object[]) => {
    if (!noteStates(known.current, objects) || isDue.current) return;
    isDue.current = true;
    setTimeout(() => {
      isDue.current = false;
      void queryClient.invalidateQueries({ queryKey: ['ReceiverPage'] });
    }, CHANGES_MS);
  }, []);
  useLiveObjects(listener);
}

/** The script of the check is loaded with the first one. */
function check(host: string, timeout: number): void {
  import('../queue/check-receiver.ts').then(
    ({ checkHost }) => checkHost(host, timeout),
    (error: Error) => toastFailure(`Receiver not checked: ${error.message}`),
  );
}

function Facts({ receiver, dead }: { receiver: ReceiverOfPage; dead: ReactNode }) {
  const { host, queueCount, health } = receiver;
  const view = useView();
  const { all, good, others } = answersOf(health);
  const { p50 = null, p95 = null } = health?.duration ?? {};
  const accepted = lastAccepted(receiver, view);
  const canReplay = useMay('replayDeadLetters');
  const jobs = (...value: ('retrying' | 'dead' | 'held')[]) =>
    jobsPath([
      { word: 'receiver', value: [host] },
      { word: 'state', value },
    ]);
  return (
    <dl className="facts">
      <Fact label="Queues" sub={stoppedText(receiver) || 'none paused or held'}>
        {number(queueCount)}
      </Fact>
      <Fact
        label="Failing queues"
        sub={
          <>
            <Link href={jobs('retrying', 'dead')}>Failing jobs</Link>, <Link href={jobs('held')}>held jobs</Link>
          </>
        }
      >
        <span className={failingOf(health) > 0 ? 'trouble' : undefined}>{number(failingOf(health))}</span>
        {(health?.untriedQueues ?? 0) > 0 && <small> with too few attempts since</small>}
      </Fact>
      <Fact
        label="Dead letters"
        sub={<Link href={deadPath(host, 'receiver')}>{canReplay ? 'See and replay them' : 'See them'}</Link>}
      >
        {dead}
      </Fact>
      <Fact
        label="Answers, last hour"
        sub={
          all === 0
            ? 'no attempt ended'
            : others.length === 0
              ? `all ${number(all)} of them`
              : others.map(({ label, count: n }) => `${number(n)} × ${label}`).join(', ')
        }
      >
        {all === 0 ? 'None' : percent(good, all)} {all > 0 && <small>2xx</small>}
      </Fact>
      <Fact label="Latency, last hour" sub={p95 === null ? 'no delivery ended' : `95 % within ${took(p95)}`}>
        {p50 === null ? NONE : took(p50)} {p50 !== null && <small>median</small>}
      </Fact>
      <Fact label="Last 2xx" sub={accepted.sub}>
        {accepted.text}
      </Fact>
      <Fact label="Last failure" sub={`of ${many(queueCount, 'queue')}`}>
        {spanText(health?.refusedAt ?? null, view)}
      </Fact>
    </dl>
  );
}

/** Its numbers, and the first page of its queues; the others are in the list of queues. */
function FactsAndQueues({ receiver }: { receiver: ReceiverOfPage }) {
  const { host, queueCount } = receiver;
  const [params] = useSearchParams();
  const place = { search: receiverWord(host), after: null };
  const { result, states } = useQueues(place);
  const span = useSpan();
  const timelines = useTimelines(place, span);
  const { isHeld, handlers } = useHeld();
  const ticks = useTicks(host);
  const canTick = useMay('pauseQueues');
  useWalk();
  const isPart = queueCount > PAGE;
  const { bars, then, deadCounts } = timelines;
  const all = useMemo(() => bars && sumOfPoints(bars.values()), [bars]);
  const allThen = useMemo(() => then && sumOfPoints(then.values()), [then]);
  const dead =
    deadCounts &&
    sumOfDead(
      deadCounts,
      states.map(({ queue }) => queue.id),
      isPart,
    );
  return (
    <div {...handlers}>
      <Facts receiver={receiver} dead={dead} />
      {all !== undefined && !isPart && (
        <section className="sec receiver-attempts" aria-labelledby="attempts-h">
          <div className="sec-head">
            <h2 id="attempts-h">Attempts</h2>
            <span className="small q">{sparkSentence(all, span.label)}</span>
          </div>
          <Spark timeline={all} then={allThen} span={span} />
        </section>
      )}
      <Failure result={result} what="The list of its queues" />
      <QueuesSection
        title="Its queues"
        states={worstFirst(states)}
        span={span}
        timelines={timelines}
        isHeld={isHeld || ticks.ids.size > 0}
        ticks={canTick ? ticks : undefined}
      />
      <QueuesBar ticks={ticks} queues={states.map(({ queue }) => queue)} />
      {isPart && (
        <nav className="pager" aria-label="Pages">
          <Link
            className="btn tiny"
            href={`/queues${toSearch({ ...Object.fromEntries(params), q: receiverWord(host) })}`}
          >
            All {many(queueCount, 'queue')}
          </Link>
        </nav>
      )}
    </div>
  );
}
