import './job.css';
import { Link, useLocation, useSearch } from 'wouter-preact';
import { parseFilter } from '../../../../query/filter/engine.ts';
import { JOBS } from '../../../../query/filter/jobs.ts';
import { queuePath } from '../../../../query/filter/links.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import { isJobId } from '../../../../query/words/job-id.ts';
import { may } from '../../../../query/words/rights.ts';
import { wordOfJob } from '../../../../query/words/words.ts';
import { useRights } from '../../../api/rights.ts';
import { type ServerFacts, useServer } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Crossing } from '../../../parts/crossing.tsx';
import { Icon } from '../../../parts/icon.tsx';
import { PayloadPanel } from '../../../parts/json/json-viewer.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { Page } from '../../../parts/page/page.tsx';
import { Failure, Skeleton } from '../../../parts/states.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { comparedFirst } from '../../../words/job.ts';
import { secondLineOfJob, sentenceOfJob, sentenceOfMissingJob, shortSentence } from '../../../words/job-sentence.ts';
import type { JobOfPage } from '../operations/job.ts';
import { AttemptsPanel } from './attempts.tsx';
import { CopyAs } from './copy-as.tsx';
import { Facts } from './facts.tsx';
import { useJobActions } from './job-actions.tsx';
import { JobNotes } from './job-notes.tsx';
import { neighboursOf } from './last-list.ts';
import { useJob } from './use-job.ts';

/** One job: what happens next and when, or what became of it. */
export default function Job({ params: { id = '' } }: { params: Record<string, string> }) {
  const { result, job } = useJob(id);
  const server = useServer();
  const search = useSearch();
  const from = search === '' ? '' : `?${search}`;
  useNeighbourKeys(id, from);

  if (result.data === undefined || server === null) {
    return (
      <Page
        title="Job"
        crumbs={[{ label: 'Jobs', to: `/jobs${from}` }, { label: <Id id={id} /> }]}
        h1={`Job …${id.slice(-5)}`}
      >
        <Failure result={result} what="This job" />
        <Skeleton lines={5} />
      </Page>
    );
  }
  if (job === undefined) return <MissingJob id={id} from={from} server={server} />;
  return <FoundJob job={job} result={result} server={server} from={from} />;
}

function FoundJob({
  job,
  result,
  server,
  from,
}: {
  job: JobOfPage;
  result: ReturnType<typeof useJob>['result'];
  server: ServerFacts;
  from: string;
}) {
  const view = useView();
  const { webhookTimeoutSeconds, hasWorker } = server;
  const context = { ...view, webhookTimeoutSeconds, hasWorker };
  const sentence = sentenceOfJob(job, context);
  const second = secondLineOfJob(job, context);
  const { icon, signal } = wordOfJob(job);
  const { buttons, dialog } = useJobActions(job);
  const sendPath = `${queuePath(job.queue.name, '/send')}${toSearch({ from: job.id })}`;
  const [, navigate] = useLocation();
  const rights = useRights();
  // Without the right to see its payload, there is nothing to change.
  const canCopy = may(rights, 'publishJob') && rights?.mayViewPayloads === true;
  const comparePath = `/jobs/${job.id}/compare?payload=${comparedFirst(job) ?? ''}`;
  useCommands([
    ...(job.attempts.length > 1
      ? [{ label: 'Compare its attempts', icon: 'list', run: () => navigate(`/jobs/${job.id}/compare`) } as const]
      : []),
    { label: 'Compare its payload with another job', icon: 'list', run: () => navigate(comparePath) },
  ]);
  useCommands(canCopy ? [{ label: 'Send a changed copy', icon: 'edit', run: () => navigate(sendPath) }] : []);
  return (
    <Page
      title={shortSentence(sentence)}
      crumbs={[
        { label: 'Jobs', to: `/jobs${from}` },
        { label: job.queue.name, to: queuePath(job.queue.name) },
        { label: <Id id={job.id} /> },
      ]}
      sign={{ icon, signal }}
      h1={<Phrase pieces={sentence} />}
      {...(second.length > 0 && { lead: <Phrase pieces={second} /> })}
      actions={
        <>
          {buttons}
          {canCopy && (job.status === 'DEAD' || job.status === 'COMPLETED') && (
            <Link className="btn" href={sendPath}>
              <Icon name="edit" />
              Send a changed copy
            </Link>
          )}
          <CopyAs job={job} payloadText={job.payloadText} />
          <Neighbours id={job.id} from={from} />
        </>
      }
    >
      <Failure result={result} what="This job" />
      <section aria-labelledby="course">
        <h2 className="sr" id="course">
          Timeline of the job
        </h2>
        <Crossing job={job} webhookTimeoutSeconds={webhookTimeoutSeconds} />
      </section>
      <JobNotes job={job} />
      <div className="cols">
        <div className="stack">
          <AttemptsPanel job={job} />
          <Facts job={job} retentionSeconds={server.retentionSeconds} />
        </div>
        <div className="stack">
          <PayloadPanel
            text={job.payloadText}
            paths={pathsOf(from)}
            more={
              <Link className="btn quiet tiny" href={comparePath}>
                Compare
              </Link>
            }
          />
        </div>
      </div>
      {dialog}
    </Page>
  );
}

/** The paths of the filter of the list that the job was opened from. */
function pathsOf(from: string): string[] {
  const filter = parseFilter(JOBS, new URLSearchParams(from).get('q') ?? '');
  return filter.flatMap((chip) => (chip.word === 'payload' ? [chip.value.path] : []));
}

function MissingJob({ id, from, server }: { id: string; from: string; server: ServerFacts }) {
  const sentence = isJobId(id)
    ? sentenceOfMissingJob(server.retentionSeconds)
    : 'No job has this id: ids have 24 digits, 0-9 and a-f.';
  return (
    <Page
      title="No such job"
      crumbs={[{ label: 'Jobs', to: `/jobs${from}` }, { label: <Id id={id} /> }]}
      h1={sentence}
    />
  );
}

function Id({ id }: { id: string }) {
  return <span className="mono">{id}</span>;
}

function Neighbours({ id, from }: { id: string; from: string }) {
  const { previous, next } = neighboursOf(id, from);
  if (previous === null && next === null) return null;
  return (
    <span className="seg" role="group" aria-label="Neighbours in the list you came from">
      <NeighbourLink id={previous} from={from} label="Previous job" icon="up" />
      <NeighbourLink id={next} from={from} label="Next job" icon="down" />
    </span>
  );
}

function NeighbourLink({
  id,
  from,
  label,
  icon,
}: {
  id: string | null;
  from: string;
  label: string;
  icon: 'up' | 'down';
}) {
  if (id === null) {
    return (
      <span aria-disabled="true">
        <Icon name={icon} />
      </span>
    );
  }
  return (
    <Link href={`/jobs/${id}${from}`} aria-label={label} replace>
      <Icon name={icon} />
    </Link>
  );
}

function useNeighbourKeys(id: string, from: string): void {
  const [, navigate] = useLocation();
  const { previous, next } = neighboursOf(id, from);
  const go = (to: string | null) => {
    if (to !== null) navigate(`/jobs/${to}${from}`, { replace: true });
  };
  useCommands([
    { key: '[', label: 'Previous job of the list', run: () => go(previous), isOnlyKey: true },
    { key: ']', label: 'Next job of the list', run: () => go(next), isOnlyKey: true },
    { key: 'Escape', label: 'Back to the list', run: () => navigate(`/jobs${from}`), isOnlyKey: true },
  ]);
}
