import type { ReactNode } from 'preact/compat';
import { Link } from 'wouter-preact';
import type { JobRow } from '../../query/schema/fragments.ts';
import { shortId } from '../../query/words/job-id.ts';
import { JobStatusWord } from './status.tsx';
import { Ago } from './time.tsx';

/** The cells of a job in a list of jobs, from its state to the time of its publish. */
export function JobCells({
  job,
  from = '',
  queue,
  hasPayload,
  children,
}: {
  job: JobRow & { payloadPreview: string | null };
  /** Added to the address of the job. */
  from?: string;
  /** The name of the queue, in a list of several. */
  queue?: string;
  hasPayload: boolean;
  /** The next step, or the reason for the state. */
  children: ReactNode;
}) {
  return (
    <>
      <td className="c1">
        <JobStatusWord job={job} />
      </td>
      <td className="c3">
        <Link className="mono rowlink" href={`/jobs/${job.id}${from}`} data-job={job.id}>
          {shortId(job.id)}
        </Link>
      </td>
      {queue !== undefined && (
        <td className="c4">
          <span className="cut">{queue}</span>
        </td>
      )}
      {hasPayload && (
        <td className="lo2 payload">
          <span className="mono cut">{job.payloadPreview}</span>
        </td>
      )}
      <td className="c5 q">
        <span className="cut">{children}</span>
      </td>
      <td className="n lo1 attempts-cell">
        {job.attemptsMade} of {job.maxAttempts}
      </td>
      <td className="n c2 q">
        <Ago at={job.createdAt} />
      </td>
    </>
  );
}
