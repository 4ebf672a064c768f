import { Link } from 'wouter';
import { Status } from '../../../parts/status.tsx';
import { Time } from '../../../parts/time.tsx';
import { codeOf, shortCause } from '../../../words/cause.ts';
import { firstLineOf, NONE, tookExactly } from '../../../words/format.ts';
import { shortId } from '../../../words/job-id.ts';
import { ATTEMPTS } from '../../../words/words.ts';
import type { ListedAttempt } from '../operations/attempts.ts';

export function AttemptTable({ attempts }: { attempts: readonly ListedAttempt[] }) {
  return (
    <table className="table cards fixed attempt-list">
      <caption className="sr">Attempts</caption>
      <thead>
        <tr>
          <th scope="col" className="outcome">
            Outcome
          </th>
          <th scope="col" className="n took">
            Took
          </th>
          <th scope="col" className="job">
            Job
          </th>
          <th scope="col" className="queue">
            Queue
          </th>
          <th scope="col">Answer</th>
          <th scope="col" className="n lo1 ended">
            Ended
          </th>
        </tr>
      </thead>
      <tbody>
        {attempts.map((one) => (
          <Row key={`${one.job?.id} ${one.at} ${one.attempt}`} attempt={one} />
        ))}
      </tbody>
    </table>
  );
}

function Row({
  attempt: { attempt, status, at, durationMs, webhookStatusCode, error, responseBody, job },
}: {
  attempt: ListedAttempt;
}) {
  const cause = codeOf(error) === null ? shortCause(error) : '';
  const line = firstLineOf(responseBody);
  return (
    <tr>
      <td className="c1">
        <Status word={ATTEMPTS[status]} />
      </td>
      <td className="c2 n">{durationMs === null ? NONE : tookExactly(durationMs)}</td>
      <td className="c3 mono">
        {job === null ? (
          'removed'
        ) : (
          <Link className="rowlink" href={`/jobs/${job.id}`}>
            {shortId(job.id)}
          </Link>
        )}{' '}
        <span className="q3">#{attempt}</span>
      </td>
      <td className="c4 cut">{job?.queue.name ?? 'deleted'}</td>
      <td className="c5 q">
        <span className="cut">
          {webhookStatusCode !== null && <span className="mono">{webhookStatusCode} </span>}
          {cause === '' ? <code>{line}</code> : cause}
        </span>
      </td>
      <td className="n q lo1">
        <Time at={at} />
      </td>
    </tr>
  );
}
