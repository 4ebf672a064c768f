import { lowerFirst, number } from '../../../../query/words/format.ts';
import './queue.css';
import { type CSSProperties, Fragment, lazy, type ReactNode, Suspense, useEffect, useState } from 'preact/compat';
import { Link, useLocation } from 'wouter-preact';
import type { StateName } from '../../../../query/filter/jobs.ts';
import { jobsOfQueue, jobsPath, queuePath, queuesPath } from '../../../../query/filter/links.ts';
import { useWatch } from '../../../api/live/live.ts';
import { May } from '../../../api/rights.ts';
import { useWebhookTimeout } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { GoneQueue } from '../../../parts/page/gone-queue.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { late } from '../../../parts/page/late.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { togglePauseOfQueue } from '../../../parts/pause-queue.ts';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { toastFailure } from '../../../parts/toast.tsx';
import { shortSentence } from '../../../words/job-sentence.ts';
import { CONDITIONS } from '../model/condition-words.ts';
import { conditionOf, type Flow, type Jobs } from '../model/queue-condition.ts';
import { leadOfQueue, sentenceOfQueue } from '../model/queue-sentence.ts';
import type { QueueOfPage } from '../operations/queue.ts';
import { useSpan } from '../parts/chart-choices.tsx';
import { DepthBar } from '../parts/depth-bar.tsx';
import { Star } from '../parts/star.tsx';
import { Facts } from './facts.tsx';
import { LatestJobs } from './latest-jobs.tsx';
import { MoreMenu } from './more-menu.tsx';
import { QueueNotes } from './notes.tsx';
import { TopCauses } from './top-causes.tsx';
import { useQueue } from './use-queue.ts';

type Depth = NonNullable<QueueOfPage['depth']>;

/** States in the order in which they are drawn, with the token of their colour. */
const STATES: readonly (readonly [part: keyof Jobs, word: string, state: StateName, colour: string])[] = [
  ['due', 'due', 'due', '--ink-3'],
  ['scheduled', 'scheduled', 'scheduled', '--work-strong'],
  ['retrying', 'retrying', 'retrying', '--warn-mark'],
  ['held', 'held', 'held', '--hold-mark'],
  ['processing', 'processing', 'processing', '--run-mark'],
  ['awaitingAck', 'awaiting ack', 'awaiting-ack', '--ack-mark'],
];

/** Jobs that have not ended, by state. Each number links to its jobs. */
function OpenJobs({ name, depth }: { name: string; depth: Depth | null }) {
  if (depth === null) return null;
  return (
    <section className="sec" aria-labelledby="open-jobs">
      <div className="sec-head">
        <h2 id="open-jobs">Open jobs</h2>
        <span className="legend steady">
          {STATES.map(([part, word, state, colour]) => (
            <Link key={part} href={jobsPath(jobsOfQueue(name, { word: 'state', value: [state] }))}>
              <i className="dot" style={{ '--m': `var(${colour})` } as CSSProperties} aria-hidden="true" />
              {word} <b>{number(depth[part])}</b>
            </Link>
          ))}
        </span>
      </div>
      <DepthBar depth={depth} isBig />
    </section>
  );
}

/** Below the first line, which is what people come for. They come with the numbers, or soon after. */
const loadCharts = () => import('./charts.tsx');
const QueueCharts = lazy(loadCharts);

const ExamineDialog = late(() => import('./examine-receiver.tsx'));

/** A queue: is it healthy, and what limits it right now? */
export default function Queue({ params: { name = '' } }: { params: Record<string, string> }) {
  const page = useQueue(name, useSpan());
  const { result, queue } = page;
  useEffect(() => void loadCharts(), []);
  if (queue === null) return <GoneQueue name={name} />;
  if (queue === undefined) {
    return (
      <Page title={name} crumbs={crumbsOf(name)} h1={name}>
        <Failure result={result} what="This queue" />
        <Skeleton lines={6} />
      </Page>
    );
  }
  return <LiveQueue queue={queue} page={page} />;
}

const crumbsOf = (name: string) => [{ label: 'Queues', to: '/queues' }, { label: name }];

function LiveQueue({ queue, page }: { queue: QueueOfPage; page: ReturnType<typeof useQueue> }) {
  const { id, name } = queue;
  useWatch({ queueIds: [id] });
  const timeout = useWebhookTimeout();
  const check = () =>
    void import('./check-receiver.ts').then(
      ({ checkReceiver }) => checkReceiver(id, timeout),
      (error: Error) => toastFailure(`Receiver not checked: ${error.message}`),
    );
  const [isExamining, setExamining] = useState(false);
  const examine = () => setExamining(true);
  useKeys(queue, { check, examine });
  return (
    <QueueHead queue={queue} flow={page.flow} onCheck={check} onExamine={examine}>
      {isExamining && <ExamineDialog queue={queue} onClose={() => setExamining(false)} />}
      <Failure result={page.result} what="This queue" />
      <QueueNotes queue={queue} flow={page.flow} />
      <Facts queue={queue} />
      {/* The parts below the charts wait for them, so that they push nothing down. */}
      <Suspense fallback={<ChartFrames />}>
        <QueueCharts queue={queue} page={page} />
        <OpenJobs name={name} depth={queue.depth} />
        <TopCauses queue={queue} />
        <LatestJobs queue={queue} />
      </Suspense>
    </QueueHead>
  );
}

function useKeys(queue: QueueOfPage, { check, examine }: Record<'check' | 'examine', () => void>): void {
  const [, navigate] = useLocation();
  const { name } = queue;
  useCommands([
    {
      key: 'p',
      label: queue.paused ? 'Resume this queue' : 'Pause this queue',
      icon: queue.paused ? 'play' : 'pause',
      run: () => void togglePauseOfQueue(queue),
      mutation: queue.paused ? 'resumeQueue' : 'pauseQueue',
    },
    {
      ...({ key: 's', label: 'Send a test job', icon: 'send', mutation: 'publishJob' } as const),
      run: () => navigate(queuePath(name, '/send')),
    },
    {
      ...({ key: 'e', label: 'Edit this queue', icon: 'edit', mutation: 'updateQueue' } as const),
      run: () => navigate(queuePath(name, '/edit')),
    },
    { label: `Changes of ${name}`, icon: 'activity', run: () => navigate(queuePath(name, '/changes')) },
    { label: 'Check the receiver', icon: 'send', run: check, mutation: 'checkReceiver' },
    { label: 'Test the receiver…', icon: 'list', run: examine, mutation: 'examineReceiver' },
    { key: 'j', label: `All jobs in ${name}`, icon: 'jobs', run: () => navigate(jobsPath(jobsOfQueue(name))) },
  ]);
}

/** The only part that steps once a second. */
function QueueHead({
  queue,
  flow,
  onCheck,
  onExamine,
  children,
}: {
  queue: QueueOfPage;
  flow: Flow;
  onCheck: () => void;
  onExamine: () => void;
  children: ReactNode;
}) {
  const view = useView();
  const { name } = queue;
  const condition = conditionOf(queue, flow, view);
  const { icon, signal } = CONDITIONS[condition];
  const sentence = sentenceOfQueue(queue, flow, view);
  return (
    <Page
      title={`${name}: ${lowerFirst(shortSentence(sentence))}`}
      crumbs={crumbsOf(name)}
      sign={{ icon, signal }}
      h1={<Phrase pieces={sentence} />}
      lead={
        <>
          <Phrase pieces={leadOfQueue(queue, flow, view)} />
          {queue.tags.map((tag) => (
            <Fragment key={tag}>
              {' '}
              <Link className="tag" href={queuesPath(`tag:${tag}`)}>
                {tag}
              </Link>
            </Fragment>
          ))}
          {isBoundBySlots(queue) && (
            <May mutation="updateQueue">
              {' '}
              <Link href={`${queuePath(name, '/edit')}#concurrency`}>Change concurrency</Link>
            </May>
          )}
        </>
      }
      actions={
        <>
          <May mutation={queue.paused ? 'resumeQueue' : 'pauseQueue'}>
            <button type="button" className="btn" onClick={() => void togglePauseOfQueue(queue)}>
              <Icon name={queue.paused ? 'play' : 'pause'} />
              {queue.paused ? 'Resume' : 'Pause'}
              <kbd>p</kbd>
            </button>
          </May>
          <May mutation="publishJob">
            <Link href={queuePath(name, '/send')} className="btn">
              <Icon name="send" />
              Send test job
              <kbd>s</kbd>
            </Link>
          </May>
          <May mutation="updateQueue">
            <Link href={queuePath(name, '/edit')} className="btn">
              <Icon name="edit" />
              Edit
              <kbd>e</kbd>
            </Link>
          </May>
          <Star name={name} />
          <MoreMenu name={name} onCheck={onCheck} onExamine={onExamine} />
        </>
      }
    >
      {children}
    </Page>
  );
}

/** Not by reports that do not come: more slots would fill up like the others. */
const isBoundBySlots = ({ paused, hold, inFlight, concurrency, depth }: QueueOfPage) =>
  !paused && hold === null && (inFlight ?? 0) >= concurrency && (depth?.awaitingAck ?? 0) < concurrency;

/** Where the charts will stand, as high as they are: the page is not empty there, and nothing moves when they come. */
function ChartFrames() {
  return (
    <div role="status" aria-label="Loading the charts">
      <section className="sec">
        <Frame heightRem={11} />
      </section>
      <div className="cols small-charts">
        {[1, 2, 3].map((n) => (
          <Frame key={n} heightRem={7.5} lines={2} />
        ))}
      </div>
    </div>
  );
}

function Frame({ heightRem, lines = 1 }: { heightRem: number; lines?: number }) {
  return (
    <div className="chart">
      <div className="sec-head" style={{ minBlockSize: `${lines * 1.75}rem` }}>
        <span className="skel" style={{ inlineSize: '10rem' }} />
      </div>
      <div className="plot-frame" style={{ '--height': `${heightRem}rem` } as CSSProperties}>
        <div className="nothing" />
      </div>
    </div>
  );
}
