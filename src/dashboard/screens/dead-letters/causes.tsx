import { type CSSProperties, useRef } from 'react';
import { Link } from 'wouter';
import type { CauseRow } from '../../graphql/operations/dead-letters.ts';
import { CAUSE_TAGS, conditionOfCause, saidOfCause, timesOfCause, titleOfCause } from '../../model/dead/cause.ts';
import { addDeadChip, type DeadFilter } from '../../model/dead/filter.ts';
import { number } from '../../model/format.ts';
import { Icon } from '../../parts/icon.tsx';
import { Phrase } from '../../parts/time.tsx';
import { useCommands } from '../../shell/keys.ts';
import { useServer } from '../../shell/server.ts';
import { focusedRow, useWalk } from '../../shell/walk.ts';
import { useView } from '../../time.ts';
import { setDismissed } from './dismiss.ts';
import { deadPath } from './use-dead-filter.ts';

/** A fingerprint may occur in several queues; each of them is a row. */
const keyOf = (cause: CauseRow) => `${cause.fingerprint} ${cause.sample?.queue?.id ?? ''}`;

/** Causes, the largest first. The order stays as long as the list does: what is read again moves no row. */
export function CauseList({
  causes,
  listKey,
  filter,
  isDismissed,
  onReplay,
}: {
  causes: readonly CauseRow[];
  listKey: string;
  filter: DeadFilter;
  /** Whether the list is that of dismissed causes. */
  isDismissed: boolean;
  onReplay: (cause: CauseRow) => void;
}) {
  const rows = useSteadyOrder(causes, listKey);
  const most = Math.max(...causes.map(({ count }) => count));
  useWalk();
  useCommands([
    {
      key: 'r',
      label: 'Replay this cause',
      icon: 'undo',
      run: () => {
        const cause = rows[focusedRow()];
        if (cause !== undefined) onReplay(cause);
      },
    },
    {
      key: 'd',
      label: isDismissed ? 'Restore this cause' : 'Dismiss this cause',
      icon: isDismissed ? 'undo' : 'cancelled',
      run: () => {
        const cause = rows[focusedRow()];
        if (cause !== undefined) void setDismissed(cause, !isDismissed);
      },
    },
  ]);
  return (
    <>
      <h2 className="sr">Causes</h2>
      <ol className="causes">
        {rows.map((cause) => (
          <Cause
            key={keyOf(cause)}
            cause={cause}
            most={most}
            filter={filter}
            isDismissed={isDismissed}
            onReplay={() => onReplay(cause)}
          />
        ))}
      </ol>
    </>
  );
}

function useSteadyOrder(causes: readonly CauseRow[], listKey: string): readonly CauseRow[] {
  const order = useRef<{ listKey: string; places: Map<string, number> }>({ listKey: '', places: new Map() });
  if (order.current.listKey !== listKey) order.current = { listKey, places: new Map() };
  const { places } = order.current;
  for (const cause of [...causes].sort((a, b) => b.count - a.count)) {
    if (!places.has(keyOf(cause))) places.set(keyOf(cause), places.size);
  }
  return [...causes].sort((a, b) => (places.get(keyOf(a)) ?? 0) - (places.get(keyOf(b)) ?? 0));
}

function Cause({
  cause,
  most,
  filter,
  isDismissed,
  onReplay,
}: {
  cause: CauseRow;
  most: number;
  filter: DeadFilter;
  isDismissed: boolean;
  onReplay: () => void;
}) {
  const view = useView();
  const timeout = useServer()?.webhookTimeoutSeconds ?? 15;
  const queue = cause.sample?.queue ?? null;
  const tag = CAUSE_TAGS[conditionOfCause(cause, view.now)];
  const { range, since } = timesOfCause(cause, view);
  const ofCause = addDeadChip(filter, { word: 'cause', values: [cause.fingerprint] });
  const rows = queue === null ? ofCause : addDeadChip(ofCause, { word: 'queue', values: [queue.name] });
  const share = { '--n': `${(cause.count / most) * 100}%` } as CSSProperties;
  return (
    <li>
      <div>
        <div className="many">
          {number(cause.count)} <span className="sr">dead letters</span>
        </div>
        <div className="share" aria-hidden="true">
          <i style={share} />
        </div>
      </div>
      <div className="what">
        <h3>
          <Link className="rowlink" href={deadPath(rows, 'all')}>
            {titleOfCause(cause, timeout)}
          </Link>
          <span className="tag">{queue?.name ?? 'queue deleted'}</span>
          {tag !== null && <span className={`tag ${tag.signal}`}>{tag.word}</span>}
        </h3>
        <span className="said cut">{saidOfCause(cause)}</span>
      </div>
      <p className="when">
        <b>
          <Phrase pieces={range} />
        </b>
        <span>
          <Phrase pieces={since} />
        </span>
      </p>
      <span className="deeds">
        <button
          className="btn tiny"
          type="button"
          aria-disabled={queue === null}
          onClick={() => {
            if (queue !== null) onReplay();
          }}
        >
          <Icon name="undo" />
          Replay…
          <span className="sr"> {titleOfCause(cause, timeout)}</span>
        </button>
        <button className="btn tiny quiet" type="button" onClick={() => void setDismissed(cause, !isDismissed)}>
          {isDismissed ? 'Restore' : 'Dismiss'}
          <span className="sr"> {titleOfCause(cause, timeout)}</span>
        </button>
      </span>
    </li>
  );
}
