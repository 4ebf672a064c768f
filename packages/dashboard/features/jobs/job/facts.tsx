import { Link } from 'wouter-preact';
import { queuePath } from '../../../../query/filter/links.ts';
import { seconds, visible } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { CopyButton } from '../../../parts/copy.tsx';
import { ExactTime, Time } from '../../../parts/time.tsx';
import type { JobOfPage } from '../operations/job.ts';

export function Facts({ job, retentionSeconds }: { job: JobOfPage; retentionSeconds: number }) {
  const { queue, deadLetter, replayOf, replays } = job;
  const keptUntil = new Date(Date.parse(job.createdAt) + retentionSeconds * 1000).toISOString();
  const hasEnded = job.status === 'COMPLETED' || job.status === 'DEAD';
  return (
    <section aria-labelledby="facts">
      <div className="sec-head">
        <h2 id="facts">Facts</h2>
      </div>
      <dl className="pairs">
        <dt>Queue</dt>
        <dd>
          <Link className="link" href={queuePath(queue.name)}>
            {queue.name}
          </Link>
          {queue.deletedAt !== null && <span className="tag">deleted</span>}
          {queue.mode === 'ACK' && <span className="tag">ack</span>}
        </dd>
        <dt>Receiver</dt>
        <dd>
          <span className="mono">{queue.webhookUrl}</span>
        </dd>
        {deadLetter !== null && (
          <>
            <dt>Dead letter</dt>
            <dd>
              <span className="mono">{shortId(deadLetter.id)}</span>
              {deadLetter.replayedAt === null ? 'not replayed' : 'replayed'}
            </dd>
          </>
        )}
        {replayOf !== null && (
          <>
            <dt>Replay of</dt>
            <dd>
              <JobLink id={replayOf.id} />
            </dd>
          </>
        )}
        {replays.length > 0 && (
          <>
            <dt>Replays</dt>
            <dd>
              {replays.map(({ id }) => (
                <JobLink key={id} id={id} />
              ))}
            </dd>
          </>
        )}
        {job.idempotencyKey !== null && (
          <>
            <dt>Idempotency key</dt>
            <dd>
              <span className="mono">{visible(job.idempotencyKey)}</span>
              <CopyButton text={job.idempotencyKey} what="Idempotency key" />
            </dd>
          </>
        )}
        <dt>Published</dt>
        <dd>
          <ExactTime at={job.createdAt} />
        </dd>
        <dt>Backoff</dt>
        <dd>
          {job.backoffType === 'FIXED' ? 'always' : 'exponential from'} {seconds(job.backoffDelay)}
        </dd>
        <dt>Holds used</dt>
        <dd>
          {job.deferCount} of {queue.maxDefers}
        </dd>
        <dt>{hasEnded ? 'Kept until' : 'Gives up at'}</dt>
        <dd>
          <Time at={hasEnded ? keptUntil : job.deliverBy} />
        </dd>
      </dl>
    </section>
  );
}

function JobLink({ id }: { id: string }) {
  return (
    <Link className="link mono" href={`/jobs/${id}`}>
      {shortId(id)}
    </Link>
  );
}
