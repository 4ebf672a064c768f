import { Link } from 'wouter-preact';
import { firstLineOf, NONE, tookExactly } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { ATTEMPTS } from '../../../../query/words/words.ts';
import { Status } from '../../../parts/status.tsx';
import { Table } from '../../../parts/table.tsx';
import { Time } from '../../../parts/time.tsx';
import { codeOf, shortCause } from '../../../words/cause.ts';
import type { ListedAttempt } from '../operations/attempts.ts';

export function AttemptTable({ attempts }: { attempts: readonly ListedAttempt[] }) {
  return (
    <Table
      className="cards fixed attempt-list"
      caption="Attempts"
      columns={[
        ['Outcome', 'outcome'],
        ['Took', 'n took'],
        ['Job', 'job'],
        ['Queue', 'queue'],
        'Answer',
        ['Ended', 'n lo1 ended'],
      ]}
    >
      {attempts.map((one) => (
        <Row key={`${one.job?.id} ${one.at} ${one.attempt}`} attempt={one} />
      ))}
    </Table>
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
