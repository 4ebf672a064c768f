import { queuePath } from '../../../filter/links.ts';
import './problems.css';
import { Link, useLocation } from 'wouter';
import { useRights } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { setQueuePaused } from '../../../parts/pause-queue.ts';
import { TellMe } from '../../../parts/tell-me.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { number } from '../../../words/format.ts';
import { may } from '../../../words/rights.ts';
import type { ListedQueue } from '../list/use-queues.ts';
import { MAX_PROBLEMS } from '../model/overview.ts';
import { alertOfCondition } from '../model/queue-alert.ts';
import { CONDITIONS } from '../model/queue-condition.ts';
import { problemOf, type WayOut, wayOutOf } from '../model/queue-problem.ts';

/** The queues that need a look, the worst first, each with its sentence and one button. */
export function Problems({ states, hidden }: { states: readonly ListedQueue[]; hidden: number }) {
  const [, navigate] = useLocation();
  useCommands(
    states.map(({ queue: { name } }, index) => ({
      key: String(index + 1),
      label: `Open ${name}`,
      run: () => navigate(queuePath(name)),
      isOnlyKey: true,
    })),
  );
  if (states.length === 0) return null;
  return (
    <section aria-labelledby="needs-h">
      <h2 id="needs-h" className="sr">
        What needs a look
      </h2>
      <ol className="needs">
        {states.map((state, index) => (
          <Problem key={state.queue.id} state={state} place={index + 1} />
        ))}
      </ol>
      {hidden > 0 && (
        <p className="needs-more">
          The {MAX_PROBLEMS} worst are here; {hidden === 1 ? 'one more comes' : `${number(hidden)} more come`} first in
          the table.
        </p>
      )}
    </section>
  );
}

function Problem({ state: { queue, condition, flow }, place }: { state: ListedQueue; place: number }) {
  const view = useView();
  const { icon, signal } = CONDITIONS[condition];
  const { lead, rest } = problemOf(condition, queue, flow, view);
  const alert = alertOfCondition(condition, queue);
  return (
    <li>
      <kbd>{place}</kbd>
      <span className={`sign ${signal}`}>
        <Icon name={icon} />
      </span>
      <Link className="who rowlink" href={queuePath(queue.name)}>
        {queue.name}
      </Link>
      <p className="what">
        <b>
          <Phrase pieces={lead} />
        </b>{' '}
        <Phrase pieces={rest} /> {alert !== null && <TellMe alert={alert} about={`of ${queue.name}`} />}
      </p>
      <WayOutButton queue={queue} wayOut={wayOutOf(condition, queue)} />
    </li>
  );
}

function WayOutButton({ queue, wayOut }: { queue: ListedQueue['queue']; wayOut: WayOut }) {
  const rights = useRights();
  if (wayOut.deed !== undefined && !may(rights, wayOut.deed)) return null;
  const of = <span className="sr"> of {queue.name}</span>;
  if ('path' in wayOut) {
    return (
      <Link className="btn tiny" href={wayOut.path}>
        {wayOut.label}
        {of}
      </Link>
    );
  }
  return (
    <button type="button" className="btn tiny" onClick={() => void setQueuePaused(queue, false)}>
      <Icon name="play" />
      {wayOut.label}
      {of}
    </button>
  );
}
