import { useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { changeQueue } from '../../api/change-queue.ts';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { useServer, useWebhookTimeout } from '../../api/server.ts';
import { serverNow } from '../../base/clock.ts';
import { useView } from '../../base/time.ts';
import { Crossing } from '../../parts/crossing.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Failure, type QueryState } from '../../parts/states.tsx';
import { JobStatusWord } from '../../parts/status.tsx';
import { Phrase } from '../../parts/time.tsx';
import { toastFailure } from '../../parts/toast.tsx';
import { sentenceOfJob } from '../../words/job-sentence.ts';
import { exampleJob } from './example-job.ts';
import { FIRST_KEY, FIRST_PAYLOAD } from './model/first-run.ts';
import { PublishFirst } from './operations.ts';
import type { NewQueue } from './queue-form.tsx';
import type { FirstJobNow } from './use-first-job.ts';

/** Waits for the first job, or sends it; then says how it is. */
export function WaitForJob({
  queue,
  result,
  job,
}: {
  queue: NewQueue;
  result: QueryState;
  job: FirstJobNow | undefined;
}) {
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    await publish(queue.name);
    setBusy(false);
  };
  return (
    <>
      <Failure result={result} what="The first job" />
      <div className="toolbar">
        {job === undefined ? (
          <>
            <button
              type="button"
              className="btn"
              aria-disabled={isBusy}
              onClick={() => {
                if (!isBusy) void send();
              }}
            >
              <Icon name="send" />
              Or send it from here
            </button>
            <span className="st idle q first-job" role="status">
              <Icon name="scheduled" />
              Waiting for the first job. It appears here by itself.
            </span>
          </>
        ) : (
          <>
            <span role="status">
              <JobStatusWord job={job} />
            </span>
            <Link className="link" href={`/jobs/${job.id}`}>
              Open the job
            </Link>
          </>
        )}
      </div>
      {job !== undefined && <Sentence job={job} />}
    </>
  );
}

function Sentence({ job }: { job: FirstJobNow }) {
  const view = useView();
  const server = useServer();
  if (server === null) return null;
  const { webhookTimeoutSeconds, hasWorker } = server;
  return (
    <p>
      <Phrase pieces={sentenceOfJob(job, { ...view, webhookTimeoutSeconds, hasWorker })} />
    </p>
  );
}

async function publish(name: string): Promise<void> {
  const input = { payloadText: FIRST_PAYLOAD, idempotencyKey: FIRST_KEY };
  const outcome = await changeQueue(async () =>
    outcomeOf((await request(PublishFirst, { queue: name, input })).publishJob),
  );
  if (!outcome.ok) toastFailure(`The job was not published: ${outcome.message}`);
}

/** The timeline of the first job; until there is one, of an example. */
export function FirstJobPanel({ job }: { job: FirstJobNow | undefined }) {
  const [example] = useState(() => exampleJob(serverNow()));
  const timeout = useWebhookTimeout();
  return (
    <section className="panel" aria-labelledby="course-h">
      <header>
        <h2 id="course-h">{job === undefined ? 'What you will see' : 'Timeline of the job'}</h2>
        {job === undefined && <span className="tag">example</span>}
      </header>
      <div className="in">
        <Crossing job={job ?? example} webhookTimeoutSeconds={timeout} isDown />
        {job === undefined && (
          <p className="small q">
            Every job has this timeline, its answers and its exact payload. A hold uses no attempt.
          </p>
        )}
      </div>
    </section>
  );
}
