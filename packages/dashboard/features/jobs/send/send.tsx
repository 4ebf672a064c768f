import './send.css';
import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useState } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import { seconds } from '../../../../query/words/format.ts';
import { roleFor } from '../../../../query/words/rights.ts';
import { wordOfJob } from '../../../../query/words/words.ts';
import { keepOld, query } from '../../../api/query.ts';
import { useServer } from '../../../api/server.ts';
import { useStore } from '../../../base/store.ts';
import { useView } from '../../../base/time.ts';
import { GoneQueue } from '../../../parts/page/gone-queue.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Only } from '../../../parts/page/only.tsx';
import { Page } from '../../../parts/page/page.tsx';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import type { JobWhole } from '../../../words/job.ts';
import { shortSentence } from '../../../words/job-sentence.ts';
import { type Phrase as Pieces, phrase } from '../../../words/phrase.ts';
import { useJobBeside } from '../job/use-job.ts';
import { sentenceOfSent } from '../model/send-sentence.ts';
import { SendPage, type SendQueue } from '../operations/send.ts';
import { sentJobs } from './drafts.ts';
import { Result } from './result.tsx';
import { SendForm } from './send-form.tsx';
import { SentBefore } from './sent-before.tsx';

/** Does my receiver work? Publishes a job, and shows what comes back. */
export default function Send({ params: { name = '' } }: { params: Record<string, string> }) {
  return (
    <Only needs={roleFor('publishJob')} what="send jobs" title={`Send to ${name}`} crumbs={crumbsOf(name)}>
      <PermittedSend name={name} />
    </Only>
  );
}

function PermittedSend({ name }: { name: string }) {
  // The form stays while another queue is read.
  const result = useQuery({ ...query(SendPage, { name }), ...keepOld });
  const queue = result.data?.queue;
  if (queue === null && !result.isPlaceholderData) return <GoneQueue name={name} />;
  if (queue == null) {
    return (
      <Page title={`Send to ${name}`} crumbs={crumbsOf(name)} h1={invitation(name)}>
        <Failure result={result} what="This queue" />
        <Skeleton lines={5} />
      </Page>
    );
  }
  const names = result.data?.queues.nodes.map((one) => one.name) ?? [];
  return <LoadedSend chosen={name} queue={queue} names={names} result={result} />;
}

const crumbsOf = (name: string) => [
  { label: 'Queues', to: '/queues' },
  { label: name, to: queuePath(name) },
  { label: 'Send test job' },
];

const invitation = (name: string) => `Send a job to ${name}, and see what the receiver answers.`;

interface Loaded {
  /** The queue of the address, which is read while it is another one than `queue`. */
  chosen: string;
  queue: SendQueue;
  names: readonly string[];
  result: Parameters<typeof Failure>[0]['result'];
}

function LoadedSend(props: Loaded) {
  const { name } = props.queue;
  const [, navigate] = useLocation();
  const first = useStore(sentJobs).find(({ queue }) => queue === name);
  const [last, setSent] = useState<(Shown & { queue: string }) | null>(null);
  const sent = last?.queue === name ? last : null;
  useCommands([{ key: 'Escape', label: `Back to ${name}`, run: () => navigate(queuePath(name)), isOnlyKey: true }]);
  // The job that was sent last is still there when the person comes back.
  const shown = sent ?? (first === undefined ? null : { id: first.id, created: true });
  const { job, result: jobResult } = useJobBeside(shown?.id ?? null);
  const sentence = useSentence(name, shown, job);
  // The form stays the same component throughout, so that it keeps its fields and the focus.
  return (
    <Frame {...props} sentence={sentence} job={job} onSent={(shown) => setSent({ ...shown, queue: name })}>
      {shown === null && <Empty title="The answer will be shown here" icon="moving" />}
      {shown !== null && <Failure result={jobResult} what="The job" />}
      {shown !== null && job !== undefined && (
        <Result key={job.id} job={job} created={shown.created} isFresh={sent !== null} />
      )}
    </Frame>
  );
}

interface Shown {
  id: string;
  created: boolean;
}

function useSentence(name: string, shown: Shown | null, job: JobWhole | undefined): Pieces {
  const view = useView();
  const server = useServer();
  if (shown === null) return [invitation(name)];
  if (job === undefined || server === null) return ['Published. The answer follows.'];
  const { webhookTimeoutSeconds, hasWorker } = server;
  const sentence = sentenceOfSent(job, { ...view, webhookTimeoutSeconds, hasWorker });
  return shown.created ? sentence : phrase`This key was used before. ${sentence}`;
}

function Frame({
  chosen,
  queue,
  names,
  result,
  sentence,
  job,
  onSent,
  children,
}: Loaded & {
  sentence: Pieces;
  job: JobWhole | undefined;
  onSent: (sent: Shown) => void;
  children: ReactNode;
}) {
  const { name, mode, ackTimeout, webhookUrl, paused } = queue;
  const word = job === undefined ? undefined : wordOfJob(job);
  return (
    <Page
      title={job === undefined ? `Send to ${name}` : shortSentence(sentence)}
      crumbs={crumbsOf(name)}
      {...(word !== undefined && { sign: word })}
      h1={<Phrase pieces={sentence} />}
      lead={
        <>
          {mode === 'ACK'
            ? `${name} is in ack mode: the job is completed when the worker reports, within ${seconds(ackTimeout)}. `
            : `${name} delivers to `}
          {mode !== 'ACK' && <span className="mono">{webhookUrl}</span>}
          {mode !== 'ACK' && '; a 2xx answer completes the job. '}
          {paused && <b>The queue is paused: the job waits until it is resumed.</b>}
        </>
      }
    >
      <Failure result={result} what="This queue" />
      <div className="cols send-cols">
        <SendForm chosen={chosen} queue={queue} names={names} onSent={onSent} hasSent={job !== undefined} />
        <div className="stack">
          {children}
          <SentBefore present={job?.id ?? null} />
        </div>
      </div>
    </Page>
  );
}
