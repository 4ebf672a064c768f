import { queuePath, receiverPath } from '../../../../query/filter/links.ts';
import './problems.css';
import { useQuery } from '@tanstack/preact-query';
import { Link, useLocation } from 'wouter-preact';
import { many } from '../../../../query/words/format.ts';
import { may } from '../../../../query/words/rights.ts';
import { query } from '../../../api/query.ts';
import { useRights } from '../../../api/rights.ts';
import { useView } from '../../../base/time.ts';
import { Icon } from '../../../parts/icon.tsx';
import { useCommands } from '../../../parts/page/keys.ts';
import { setQueuePaused } from '../../../parts/pause-queue.ts';
import { TellMe } from '../../../parts/tell-me.tsx';
import { Phrase } from '../../../parts/time.tsx';
import type { ListedQueue } from '../list/use-queues.ts';
import { alertOfCondition, CONDITIONS, type WayOut, wayOutOf } from '../model/condition-words.ts';
import type { Trouble } from '../model/overview.ts';
import { problemOf, problemOfSeveral, wayOutOfSeveral } from '../model/queue-problem.ts';
import { LastOfQueue } from '../operations/queues.ts';
import { SeveralButtons } from '../several/several-buttons.tsx';

/**
 * The queues that need attention, the worst first, each with its sentence and one button;
 * those of one receiver together.
 */
export function Problems({ troubles, hidden }: { troubles: readonly Trouble<ListedQueue>[]; hidden: number }) {
  const [, navigate] = useLocation();
  const shown = troubles.map(shownOf);
  useCommands(
    shown.map(({ name, path }, index) => ({
      key: String(index + 1),
      label: `Open ${name}`,
      run: () => navigate(path),
      isOnlyKey: true,
    })),
  );
  if (shown.length === 0) return null;
  return (
    <section aria-labelledby="needs-h">
      <h2 id="needs-h" className="sr">
        What needs attention
      </h2>
      <ol className="needs">
        {shown.map((one, index) => (
          <Problem key={one.id} {...one} place={index + 1} />
        ))}
      </ol>
      {hidden > 0 && (
        <p className="needs-more">{many(hidden, 'more queue needs', 'more queues need')} attention: see the table.</p>
      )}
    </section>
  );
}

/** One queue by its name, or several by their receiver, with the page that the entry leads to. */
function shownOf({ id, host, states }: Trouble<ListedQueue>) {
  const [first] = states;
  const queues = states.map(({ queue }) => queue);
  const isOne = queues.length === 1;
  const name = (isOne && queues[0]?.name) || host;
  return { id, host, first, queues, name, path: isOne ? queuePath(name) : receiverPath(host) };
}

function Problem({ first, host, queues, name, path, place }: ReturnType<typeof shownOf> & { place: number }) {
  const view = useView();
  // The sentence of these says since when no attempt has ended, which the minutes of the list tell only roughly.
  const isQuiet = queues.length === 1 && (first?.condition === 'awaiting' || first?.condition === 'stuck');
  const last = useQuery({ ...query(LastOfQueue, { name }), enabled: isQuiet, refetchInterval: 60_000 });
  if (first === undefined) return null;
  const lastAt = (isQuiet && last.data?.queue?.lastDeliveryAt) || null;
  const { queue, condition, flow } = first;
  const isOne = queues.length === 1;
  const { icon, signal } = CONDITIONS[condition];
  const { lead, rest } = isOne
    ? problemOf(queue, { ...flow, lastAt }, view)
    : problemOfSeveral(condition, queues, view);
  const alert = alertOfCondition(condition, queue);
  return (
    <li>
      <kbd>{place}</kbd>
      <span className={`sign ${signal}`}>
        <Icon name={icon} />
      </span>
      <Link className="who rowlink" href={path}>
        {name}
      </Link>
      <p className="what">
        <b>
          <Phrase pieces={lead} />
        </b>{' '}
        <Phrase pieces={rest} /> {/* A rule is about one queue, or about any: not about those of a receiver. */}
        {isOne && alert !== null && <TellMe alert={alert} about={`of ${name}`} />}
      </p>
      {isOne || condition !== 'paused' ? (
        <WayOutButton
          queue={queue}
          wayOut={isOne ? wayOutOf(condition, queue) : wayOutOfSeveral(condition, host)}
          of={name}
        />
      ) : (
        <SeveralButtons
          choice={{ ids: queues.map(({ id }) => id) }}
          chosen={queues.length}
          names={queues.map((one) => one.name)}
          size="tiny"
          only="resume"
          of={`of ${name}`}
        />
      )}
    </li>
  );
}

function WayOutButton({ queue, wayOut, of: name }: { queue: ListedQueue['queue']; wayOut: WayOut; of: string }) {
  const rights = useRights();
  if (wayOut.mutation !== undefined && !may(rights, wayOut.mutation)) return null;
  const of = <span className="sr"> of {name}</span>;
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
