import { Link } from 'wouter-preact';
import { deadPath } from '../../../../query/filter/links.ts';
import { firstLineOf, number } from '../../../../query/words/format.ts';
import { useWebhookTimeout } from '../../../api/server.ts';
import { ChangeBefore } from '../../../parts/change-before.tsx';
import { Table } from '../../../parts/table.tsx';
import { Ago } from '../../../parts/time.tsx';
import { titleOfDeath } from '../../../words/cause.ts';
import type { QueueOfPage } from '../operations/queue.ts';
import { useChanges } from './use-changes.ts';

/** Why jobs of this queue died: the largest causes of dead letters that were not replayed. */
export function TopCauses({ queue }: { queue: QueueOfPage }) {
  const { name, errorGroups } = queue;
  const changes = useChanges(queue) ?? [];
  const timeout = useWebhookTimeout();
  if (errorGroups.length === 0) return null;
  return (
    <section className="sec" aria-labelledby="causes">
      <div className="sec-head">
        <h2 id="causes">Why jobs died here</h2>
        <Link className="link small" href={deadPath(name)}>
          Dead letters of {name}
        </Link>
      </div>
      <Table
        className="top-causes"
        caption="Causes of dead letters that were not replayed, largest first"
        columns={['Cause', ['Last answer', 'lo1'], ['Dead letters', 'n'], ['Last one', 'n']]}
      >
        {errorGroups.map((group) => (
          <tr key={group.fingerprint}>
            <td>
              <Link className="rowlink" href={deadPath(name)}>
                {titleOfDeath(group, timeout)}
              </Link>
              <ChangeBefore cause={group} changes={changes} />
            </td>
            <td className="lo1">
              <span className="cut mono q">{firstLineOf(group.sample?.lastAttempt?.responseBody)}</span>
            </td>
            <td className="n">{number(group.count)}</td>
            <td className="n q">
              <Ago at={group.lastSeen} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
