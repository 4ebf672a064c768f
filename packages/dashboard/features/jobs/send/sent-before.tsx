import { Link } from 'wouter-preact';
import { tookExactly, visible } from '../../../../query/words/format.ts';
import { shortId } from '../../../../query/words/job-id.ts';
import { useStore } from '../../../base/store.ts';
import { JobStatusWord } from '../../../parts/status.tsx';
import { Table } from '../../../parts/table.tsx';
import { Ago } from '../../../parts/time.tsx';
import { useJobBeside } from '../job/use-job.ts';
import { type Sent, sentJobs } from './drafts.ts';

/** The jobs that were sent from this page, without the one that is shown in full. */
export function SentBefore({ present }: { present: string | null }) {
  const sent = useStore(sentJobs).filter(({ id }) => id !== present);
  if (sent.length === 0) return null;
  return (
    <section aria-labelledby="sent-before">
      <div className="sec-head">
        <h2 id="sent-before">Sent before, from this page</h2>
      </div>
      <Table caption="Test jobs sent from this page">
        {sent.map((one) => (
          <Row key={one.id} sent={one} />
        ))}
      </Table>
    </section>
  );
}

/** An answer may be 4 KiB. */
const firstLine = (text: string) => visible(text.trim().split('\n', 1)[0]?.slice(0, 200) ?? '');

function Row({ sent: { id, queue } }: { sent: Sent }) {
  const { job } = useJobBeside(id);
  const last = job?.attempts.at(-1);
  const answer = firstLine(last?.responseBody ?? '');
  const took = last?.durationMs == null ? '' : ` in ${tookExactly(last.durationMs)}`;
  return (
    <tr>
      <td>{job !== undefined && <JobStatusWord job={job} />}</td>
      <td>
        <Link className="mono rowlink" href={`/jobs/${id}`}>
          {shortId(id)}
        </Link>
      </td>
      <td className="q lo1">{queue}</td>
      <td className="n q">{last?.webhookStatusCode == null ? '' : `${last.webhookStatusCode}${took}`}</td>
      <td className="mono q3 lo1 cut answer" title={answer}>
        {answer}
      </td>
      <td className="n q">{job !== undefined && <Ago at={job.createdAt} />}</td>
    </tr>
  );
}
