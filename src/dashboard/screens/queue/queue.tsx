import './queue.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import { type QueueOfPage, QueuePage } from '../../graphql/operations/queue.ts';
import { query } from '../../graphql/query.ts';
import { useWatch } from '../../live/live.ts';
import { jobsOfQueue, jobsPath, queuePath } from '../../model/job-links.ts';
import { shortSentence } from '../../model/job-sentence.ts';
import { CONDITIONS, conditionOf, type Flow, sentenceOfQueue } from '../../model/queue-condition.ts';
import { leadOfQueue } from '../../model/queue-lead.ts';
import { Icon } from '../../parts/icon.tsx';
import { Failure, Skeleton } from '../../parts/states.tsx';
import { Phrase } from '../../parts/time.tsx';
import { useCommands } from '../../shell/keys.ts';
import { Page } from '../../shell/page.tsx';
import { useServer } from '../../shell/server.ts';
import { useView } from '../../time.ts';
import { QueueCharts } from './charts.tsx';
import { checkReceiver } from './check-receiver.ts';
import { Facts } from './facts.tsx';
import { GoneQueue } from './gone.tsx';
import { LatestJobs } from './latest-jobs.tsx';
import { MoreMenu } from './more-menu.tsx';
import { QueueNotes } from './notes.tsx';
import { OpenJobs } from './open-jobs.tsx';
import { togglePauseOfQueue } from './pause.ts';
import { TopCauses } from './top-causes.tsx';
import { useFlow } from './use-queue.ts';

/** A queue: is it healthy, and what limits it right now? */
export default function Queue({ params: { name = '' } }: { params: Record<string, string> }) {
  // The stream has the queue; causes and dead letters are asked for again.
  const asked = useQuery({ ...query(QueuePage, { name }), refetchInterval: 30_000 });
  const queue = asked.data?.queue;
  if (queue === null) return <GoneQueue name={name} />;
  if (queue === undefined) {
    return (
      <Page title={name} crumbs={crumbsOf(name)} h1={name}>
        <Failure asked={asked} what="This queue" />
        <Skeleton lines={6} />
      </Page>
    );
  }
  return <LiveQueue queue={queue} asked={asked} />;
}

const crumbsOf = (name: string) => [{ label: 'Queues', to: '/queues' }, { label: name }];

function LiveQueue({ queue, asked }: { queue: QueueOfPage; asked: Parameters<typeof Failure>[0]['asked'] }) {
  const { id, name } = queue;
  const flow = useFlow(name);
  useWatch({ queueIds: [id] });
  const timeout = useServer()?.webhookTimeoutSeconds ?? 15;
  const check = () => void checkReceiver(id, timeout);
  useKeys(queue, check);
  return (
    <QueueHead queue={queue} flow={flow} onCheck={check}>
      <Failure asked={asked} what="This queue" />
      <QueueNotes queue={queue} />
      <Facts queue={queue} />
      <QueueCharts queue={queue} flow={flow} />
      <OpenJobs name={name} depth={queue.depth} />
      <TopCauses queue={queue} />
      <LatestJobs queue={queue} />
    </QueueHead>
  );
}

function useKeys(queue: QueueOfPage, check: () => void): void {
  const [, navigate] = useLocation();
  const { name } = queue;
  useCommands([
    {
      key: 'p',
      label: queue.paused ? 'Resume this queue' : 'Pause this queue',
      icon: queue.paused ? 'play' : 'pause',
      run: () => void togglePauseOfQueue(queue),
    },
    { key: 's', label: 'Send a test job', icon: 'send', run: () => navigate(queuePath(name, '/send')) },
    { label: 'Check the receiver', icon: 'send', run: check },
    { key: 'e', label: 'Edit this queue', icon: 'edit', run: () => navigate(queuePath(name, '/edit')) },
    { key: 'j', label: `All jobs of ${name}`, icon: 'jobs', run: () => navigate(jobsPath(jobsOfQueue(name))) },
  ]);
}

/** The only part that steps once a second. */
function QueueHead({
  queue,
  flow,
  onCheck,
  children,
}: {
  queue: QueueOfPage;
  flow: Flow;
  onCheck: () => void;
  children: React.ReactNode;
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
          {isBoundBySlots(queue) && (
            <>
              {' '}
              <Link href={`${queuePath(name, '/edit')}#concurrency`}>Change concurrency</Link>
            </>
          )}
        </>
      }
      actions={
        <>
          <button type="button" className="btn" onClick={() => void togglePauseOfQueue(queue)}>
            <Icon name={queue.paused ? 'play' : 'pause'} />
            {queue.paused ? 'Resume' : 'Pause'}
            <kbd>p</kbd>
          </button>
          <Link href={queuePath(name, '/send')} className="btn">
            <Icon name="send" />
            Send test job
            <kbd>s</kbd>
          </Link>
          <Link href={queuePath(name, '/edit')} className="btn">
            <Icon name="edit" />
            Edit
            <kbd>e</kbd>
          </Link>
          <MoreMenu name={name} onCheck={onCheck} />
        </>
      }
    >
      {children}
    </Page>
  );
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

const isBoundBySlots = ({ paused, hold, inFlight, concurrency }: QueueOfPage) =>
  !paused && hold === null && (inFlight ?? 0) >= concurrency;
