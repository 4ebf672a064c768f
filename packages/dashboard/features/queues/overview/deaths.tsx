import { deadPath } from '../../../../query/filter/links.ts';
import './deaths.css';
import { Link } from 'wouter-preact';
import { number } from '../../../../query/words/format.ts';
import { useWebhookTimeout } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { TellMe } from '../../../parts/tell-me.tsx';
import { Phrase } from '../../../parts/time.tsx';
import { titleOfDeath } from '../../../words/cause.ts';
import { spanOfDeath } from '../../../words/death.ts';
import type { DeathGroup } from '../operations/queues.ts';

const SHOWN = 3;

/** The most frequent causes of the dead letters that were not replayed. It shows nothing if there are none. */
export function MostFrequentDeaths({ groups }: { groups: readonly DeathGroup[] }) {
  const most = Math.max(...groups.map(({ count }) => count));
  if (groups.length === 0) return null;
  return (
    <section className="sec" aria-labelledby="deaths-h">
      <div className="sec-head">
        <h2 id="deaths-h">Most frequent causes of death</h2>
        {groups.length > SHOWN && (
          <Link className="link small" href="/dead">
            {groups.length < 100 ? `All ${groups.length} causes` : 'All causes'}
          </Link>
        )}
      </div>
      <ol className="deaths">
        {groups.slice(0, SHOWN).map((group) => (
          <Death key={`${group.fingerprint} ${group.queue?.id}`} group={group} most={most} />
        ))}
      </ol>
    </section>
  );
}

function Death({ group, most }: { group: DeathGroup; most: number }) {
  const view = useView();
  const timeout = useWebhookTimeout();
  const { queue } = group;
  const { when, state } = spanOfDeath(group, view);
  return (
    <li>
      <div>
        <div className="many">{number(group.count)}</div>
        <div className="share" aria-hidden="true">
          <i style={{ inlineSize: `${(group.count / most) * 100}%` }} />
        </div>
      </div>
      <h3>
        <Link className="rowlink" href={queue === null ? '/dead' : deadPath(queue.name)}>
          {titleOfDeath(group, timeout)}
        </Link>
        {queue !== null && <span className="tag">{queue.name}</span>}
      </h3>
      <p className="when">
        <b>
          <Phrase pieces={when} />
        </b>{' '}
        {state}{' '}
        {queue !== null && <TellMe alert={{ kind: 'DEAD_LETTERS', queue, threshold: 1 }} about={`of ${queue.name}`} />}
      </p>
    </li>
  );
}
