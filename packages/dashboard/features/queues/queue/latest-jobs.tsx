import { useQuery } from '@tanstack/preact-query';
import { useCallback, useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { jobsOfQueue, jobsPath, queuePath } from '../../../../query/filter/links.ts';
import type { JobRow } from '../../../../query/schema/fragments.ts';
import { many, number } from '../../../../query/words/format.ts';
import { useLiveObjects, useWatch } from '../../../api/live/live.ts';
import { query } from '../../../api/query.ts';
import { useWebhookTimeout } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { JobCells } from '../../../parts/job-cells.tsx';
import { Empty, Failure } from '../../../parts/states.tsx';
import { Table } from '../../../parts/table.tsx';
import { rowTextOfJob } from '../../../words/job-row.ts';
import { LatestJobs as Latest, type LatestJob, type QueueOfPage } from '../operations/queue.ts';

/** The ten newest jobs. They change in place; new ones wait behind a button, as nothing moves under the pointer. */
export function LatestJobs({ queue }: { queue: QueueOfPage }) {
  const { id, name } = queue;
  const result = useQuery(query(Latest, { id }));
  const jobs = result.data?.jobs.nodes;
  // The stream names the changed jobs of a queue, but not all of them if it is busy.
  const isBusy = (queue.inFlight ?? 0) >= BUSY;
  useWatch({ jobIds: isBusy ? (jobs?.map((job) => job.id) ?? []) : [] });
  const { news, forget } = useNews(id, jobs);
  const show = () => void Promise.resolve(result.refetch()).then(forget);
  return (
    <section className="sec" aria-labelledby="latest">
      <div className="sec-head">
        <h2 id="latest">Latest jobs</h2>
        <Link className="link small" href={jobsPath(jobsOfQueue(name))}>
          All jobs in {name}
        </Link>
        <kbd>j</kbd>
        {news > 0 && (
          <button type="button" className="btn tiny end news-count" onClick={show}>
            {news < MAX_NEWS ? many(news, 'new job') : `${number(MAX_NEWS)}+ new jobs`}. Show{' '}
            {news === 1 ? 'it' : 'them'}
          </button>
        )}
      </div>
      <Failure result={result} what="The list of jobs" />
      {jobs !== undefined && jobs.length === 0 && (
        <Empty title="No job has been published yet" icon="send">
          <p>
            <Link href={queuePath(name, '/send')}>Send a test job</Link> and watch what the receiver answers.
          </p>
        </Empty>
      )}
      {jobs !== undefined && jobs.length > 0 && <JobTable jobs={jobs} queue={queue} />}
    </section>
  );
}

const MAX_NEWS = 1000;
/** So many changed jobs of a queue are in one message of the stream. */
const BUSY = 25;

/** Jobs of the queue that the stream has named and the list has not, counted to `MAX_NEWS`. */
function useNews(queueId: string, jobs: readonly JobRow[] | undefined) {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  // Ids begin with the time of the publish, so they are ordered like it.
  const newest = jobs?.[0]?.id ?? '';
  const listener = useCallback(
    (objects: object[]) => {
      const ids = (objects as Partial<JobRow>[])
        .filter(({ __typename, queue }) => __typename === 'Job' && queue?.id === queueId)
        .flatMap(({ id = '' }) => (id > newest ? [id] : []));
      if (ids.length > 0) setSeen((old) => (old.size < MAX_NEWS ? new Set([...old, ...ids]) : old));
    },
    [queueId, newest],
  );
  useLiveObjects(listener);
  const news = jobs === undefined ? 0 : [...seen].filter((id) => id > newest).slice(0, MAX_NEWS).length;
  return { news, forget: () => setSeen(new Set()) };
}

function JobTable({ jobs, queue }: { jobs: readonly LatestJob[]; queue: QueueOfPage }) {
  // To a person who may not see payloads there are none.
  const hasPayloads = jobs.some(({ payloadPreview }) => payloadPreview !== null);
  return (
    <Table
      className="cards fixed latest"
      caption={<>The newest jobs in {queue.name}</>}
      columns={[
        'State',
        'Job',
        ...(hasPayloads ? [['Payload', 'lo2 payload'] as const] : []),
        'Next step or reason',
        ['Attempts', 'n lo1'],
        ['Published', 'n'],
      ]}
    >
      {jobs.map((job) => (
        <Row key={job.id} job={job} queue={queue} hasPayload={hasPayloads} />
      ))}
    </Table>
  );
}

function Row({ job, queue, hasPayload }: { job: LatestJob; queue: QueueOfPage; hasPayload: boolean }) {
  const view = useView();
  const context = { ...view, webhookTimeoutSeconds: useWebhookTimeout() };
  const { concurrency, inFlight, pause, hold, rateWindow, ackTimeout } = queue;
  // The row says "20 of 20 slots are busy" from what the page knows of the queue anyway.
  const known = { ...job, queue: { concurrency, inFlight, pause, hold, rateWindow, ackTimeout } };
  return (
    <tr>
      <JobCells job={job} hasPayload={hasPayload}>
        {rowTextOfJob(known, context)}
      </JobCells>
    </tr>
  );
}
