import { queuePath } from '../../../query/filter/links.ts';
import './first-run.css';
import { type ReactNode, type Ref, useEffect, useRef, useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { urlOf } from '../../api/client.ts';
import { queryClient } from '../../api/query.ts';
import { askToLeave } from '../../base/leave.ts';
import { Note } from '../../parts/note.tsx';
import { type Crumb, Page } from '../../parts/page/page.tsx';
import { AskBeforeLoss } from '../../parts/shown-once.tsx';
import { FirstJobPanel, WaitForJob } from './first-job.tsx';
import { localPort, publishCommand, receiverCommand, secretCommand } from './model/first-run.ts';
import { type NewQueue, QueueForm } from './queue-form.tsx';
import { Term } from './term.tsx';
import { useFirstJob } from './use-first-job.ts';

const SUGGESTED_PORT = 9000;

/** Three steps from no queue to a delivered job, on one page. Also the way to create every further queue. */
export default function FirstRun({
  crumbs,
  isFirst = false,
  onCreated,
  onLeave,
}: {
  crumbs: readonly Crumb[];
  /** The account has no queue yet. */
  isFirst?: boolean;
  onCreated?: () => void;
  /** To go on to the page that these steps stood in for. */
  onLeave?: () => void;
}) {
  const [queue, setQueue] = useState<NewQueue | null>(null);
  if (queue !== null) return <AfterCreation queue={queue} crumbs={crumbs} onLeave={onLeave} />;
  return (
    <Page
      title={isFirst ? 'No queues yet' : 'New queue'}
      crumbs={crumbs}
      h1={
        isFirst
          ? 'No queues yet. Create one, send it a job and watch it arrive.'
          : 'Where should this queue deliver its jobs?'
      }
      lead="A queue defines where its jobs are delivered, how many at a time, and what happens when the receiver fails. This takes 2 minutes."
    >
      <div className="cols first-run">
        <ol className="steps">
          <Step state="here" title="Create a queue">
            <QueueForm
              isFirst={isFirst}
              onCreated={(made) => {
                onCreated?.();
                setQueue(made);
                void queryClient.invalidateQueries({ queryKey: ['Shell'] });
              }}
            />
          </Step>
          <Step state="later" title="Start a receiver that checks the signature">
            <p className="small q">The command appears here once the queue has its signing secret.</p>
          </Step>
          <Step state="later" title="Publish a job">
            {isFirst ? (
              <Term text={publishCommand(urlOf('v1/'), 'hello')} what="Command" />
            ) : (
              <p className="small q">Then you send the first job and see its timeline here.</p>
            )}
          </Step>
        </ol>
        <FirstJobPanel job={undefined} />
      </div>
    </Page>
  );
}

function AfterCreation({
  queue,
  crumbs,
  onLeave,
}: {
  queue: NewQueue;
  crumbs: readonly Crumb[];
  onLeave: (() => void) | undefined;
}) {
  const [isHidden, setHidden] = useState(false);
  const { result, job } = useFirstJob(queue.id);
  const page = queuePath(queue.name);
  const port = localPort(queue.webhookUrl);
  const isEnded = job?.status === 'COMPLETED' || job?.status === 'DEAD';
  const heading = useRef<HTMLHeadingElement>(null);
  // The next step begins here; the form that had the focus is gone.
  useEffect(() => heading.current?.focus(), []);
  return (
    <Page
      title={`New queue ${queue.name}`}
      crumbs={crumbs}
      h1={h1Of(queue.name, job?.status)}
      lead="The steps stay here until you leave the page."
      actions={
        <>
          {onLeave !== undefined && (
            <button type="button" className="btn" onClick={() => askToLeave(onLeave)}>
              To Overview
            </button>
          )}
          <Link className={isEnded ? 'btn primary' : 'btn'} href={page}>
            Open the queue
          </Link>
        </>
      }
    >
      <div className="cols first-run">
        <ol className="steps">
          <Step state="done" title="Create a queue">
            <p>
              <b>{queue.name}</b> delivers to <span className="mono">{queue.webhookUrl}</span>{' '}
              <Link className="link" href={`${page}/edit`}>
                Change its settings
              </Link>
            </p>
          </Step>
          <Step
            state={job === undefined ? 'here' : 'done'}
            title="Start a receiver that checks the signature"
            heading={heading}
          >
            <Secret secret={queue.secret} isHidden={isHidden} onHide={() => setHidden(true)} />
            {port === null && (
              <p className="small q">
                Your receiver is on another computer. This example shows the check: an HMAC over the bytes of the body.
              </p>
            )}
            <Term text={receiverCommand(port ?? SUGGESTED_PORT)} what="Receiver" />
          </Step>
          <Step state={job === undefined ? 'here' : 'done'} title="Publish a job">
            <Term text={publishCommand(urlOf('v1/'), queue.name)} what="Command" />
            <p className="small q">
              {/* In another tab: these steps, with their secret, are gone when the page is left. */}
              <a className="link" href={urlOf('settings')} target="_blank" rel="noreferrer">
                Create an API key
              </a>{' '}
              and <code>export JOBFERRY_API_KEY=…</code> in the terminal. With the embedded database,{' '}
              <code>.data/api-key</code> has one.
            </p>
            <WaitForJob queue={queue} result={result} job={job} />
          </Step>
        </ol>
        <FirstJobPanel job={job} />
      </div>
    </Page>
  );
}

function h1Of(name: string, status: string | undefined): string {
  if (status === undefined) return `${name} is ready and waiting for its first job.`;
  if (status === 'COMPLETED') return `It works: the first job in ${name} arrived.`;
  return status === 'DEAD' ? `The first job in ${name} is dead.` : `The first job in ${name} is on its way.`;
}

function Step({
  state,
  title,
  heading,
  children,
}: {
  state: 'here' | 'later' | 'done';
  title: string;
  heading?: Ref<HTMLHeadingElement>;
  children: ReactNode;
}) {
  return (
    <li className={state} aria-current={state === 'here' ? 'step' : undefined}>
      <div>
        <h2 {...(heading !== undefined && { ref: heading, tabIndex: -1 })}>{title}</h2>
        {children}
      </div>
    </li>
  );
}

/** The signing secret, once. Hidden, it is nowhere in the page any more. */
function Secret({ secret, isHidden, onHide }: { secret: string; isHidden: boolean; onHide: () => void }) {
  if (isHidden) {
    return <p className="small q">The signing secret cannot be shown again. If you lose it, rotate it.</p>;
  }
  return (
    <>
      <Note
        signal="warn"
        icon="key"
        action={
          <button type="button" className="btn tiny" onClick={onHide}>
            Hide it
          </button>
        }
      >
        <b>The signing secret is shown only this once.</b> Store it where your receiver reads it.
      </Note>
      <Term text={secretCommand(secret)} what="Signing secret" isSecret />
      <AskBeforeLoss what="the signing secret" without="the queue needs a rotation" />
    </>
  );
}
