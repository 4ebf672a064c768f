import { type CSSProperties, useRef, useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import type { DEAD_LETTERS, DeadChip, DeadFilter } from '../../../query/filter/dead-letters.ts';
import { setChip } from '../../../query/filter/engine.ts';
import type { ChangeEntry } from '../../../query/schema/fragments.ts';
import { number } from '../../../query/words/format.ts';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { May, useRights } from '../../api/rights.ts';
import { useWebhookTimeout } from '../../api/server.ts';
import { serverNow } from '../../base/clock.ts';
import { useView } from '../../base/time.ts';
import { ChangeBefore } from '../../parts/change-before.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { useCommands } from '../../parts/page/keys.ts';
import { focusedRow, focusRow, sayChooseRow, useWalk } from '../../parts/page/walk.ts';
import { TellMe } from '../../parts/tell-me.tsx';
import { Phrase } from '../../parts/time.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { titleOfDeath } from '../../words/cause.ts';
import { spanOfDeath } from '../../words/death.ts';
import { CAUSE_TAGS, conditionOfCause, hiddenBy, newCauses, reachBesides, saidOfCause } from './model/cause.ts';
import { CauseReach, type CauseRow, Dismiss, Restore } from './operations.ts';
import { deadPath } from './use-dead-filter.ts';

/** A fingerprint may occur in several queues and with several answers; each of them is a row. */
const keyOf = ({ fingerprint, queue, answer }: CauseRow) => `${fingerprint} ${queue?.id ?? ''} ${answer ?? ''}`;

const dismissingOf = (isDismissed: boolean) =>
  isDismissed
    ? ({ label: 'Restore', icon: 'undo', mutation: 'restoreErrorGroup' } as const)
    : ({ label: 'Dismiss', icon: 'cancelled', mutation: 'dismissErrorGroup' } as const);

/** Causes, the largest first. The order stays as long as the list does: what is read again moves no row. */
export function CauseList({
  causes,
  releases,
  listKey,
  filter,
  isByAnswer,
  isDismissed,
  onReplay,
}: {
  causes: readonly CauseRow[];
  releases: readonly ChangeEntry[];
  listKey: string;
  filter: DeadFilter;
  isByAnswer: boolean;
  /** Whether the list is that of dismissed causes. */
  isDismissed: boolean;
  onReplay: (cause: CauseRow) => void;
}) {
  const rows = useSteadyOrder(causes, listKey);
  const most = Math.max(...causes.map(({ count }) => count));
  const fresh = newCauses(causes, serverNow());
  const dismissing = dismissingOf(isDismissed);
  const focusedCause = () => {
    const focused = focusedRow();
    return rows.find((one) => keyOf(one) === focused);
  };
  const [wide, setWide] = useState<{ cause: CauseRow; reach: string } | null>(null);
  const ask = async (cause: CauseRow) => {
    const reach = isDismissed ? null : await reachOf(cause);
    if (reach === null) dismiss(cause);
    else setWide({ cause, reach });
  };
  const dismiss = (cause: CauseRow) => {
    // Its rows go, those of other queues too. The next one has the focus, or the last.
    const others = rows.filter(({ fingerprint }) => fingerprint !== cause.fingerprint);
    const next = others.find((one) => rows.indexOf(one) > rows.indexOf(cause)) ?? others.at(-1);
    if (next !== undefined) focusRow(keyOf(next));
    void setDismissed(cause, !isDismissed);
  };
  useWalk();
  useCommands([
    {
      key: 'r',
      label: 'Replay this cause',
      icon: 'undo',
      mutation: 'replayDeadLetters',
      run: () => {
        const cause = focusedCause() ?? rows[0];
        if (cause !== undefined) onReplay(cause);
      },
    },
    // Not by answer: a cause is dismissed with all its answers.
    ...(isByAnswer
      ? []
      : [
          {
            key: 'd',
            label: `${dismissing.label} this cause`,
            icon: dismissing.icon,
            mutation: dismissing.mutation,
            run: () => {
              const cause = focusedCause();
              // Nothing is asked, so none is taken for the one that is meant.
              if (cause === undefined) sayChooseRow();
              else void ask(cause);
            },
          },
        ]),
  ]);
  return (
    <>
      <h2 className="sr">Causes</h2>
      {wide !== null && (
        <Dialog
          title="Dismiss this cause in all queues?"
          lead={`It also hides ${wide.reach}. It returns when another job dies of it.`}
          action={{
            label: 'Dismiss in all queues',
            run: () => {
              setWide(null);
              // The closed dialog gives the focus back to the button of the row that goes.
              setTimeout(() => dismiss(wide.cause));
            },
          }}
          onClose={() => setWide(null)}
        />
      )}
      <ol className="causes">
        {rows.map((cause) => (
          <Cause
            key={keyOf(cause)}
            cause={cause}
            releases={releases}
            most={most}
            filter={filter}
            isByAnswer={isByAnswer}
            isDismissed={isDismissed}
            isNew={fresh.has(cause)}
            onReplay={() => onReplay(cause)}
            onDismiss={() => void ask(cause)}
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
  releases,
  most,
  filter,
  isByAnswer,
  isNew,
  isDismissed,
  onReplay,
  onDismiss,
}: {
  cause: CauseRow;
  releases: readonly ChangeEntry[];
  most: number;
  filter: DeadFilter;
  isByAnswer: boolean;
  isNew: boolean;
  isDismissed: boolean;
  onReplay: () => void;
  onDismiss: () => void;
}) {
  const dismissing = dismissingOf(isDismissed);
  const view = useView();
  const rights = useRights();
  const timeout = useWebhookTimeout();
  const { queue, answer = null } = cause;
  const tag = CAUSE_TAGS[conditionOfCause(cause, view.now)];
  const { when, state } = spanOfDeath(cause, view);
  const chips: DeadChip[] = [{ word: 'cause', value: [cause.fingerprint] }];
  if (queue !== null) chips.push({ word: 'queue', value: [queue.name] });
  if (isByAnswer) chips.push({ word: 'answer', value: answer ?? '' });
  const share = { '--n': `${(cause.count / most) * 100}%` } as CSSProperties;
  return (
    <li data-row={keyOf(cause)}>
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
          <Link className="rowlink" href={deadPath(chips.reduce(setChip<typeof DEAD_LETTERS>, filter), 'all')}>
            {titleOfDeath(cause, timeout)}
          </Link>
          <span className="tag">{queue?.name ?? 'queue deleted'}</span>
          {isNew && <span className="tag warn">new</span>}
          {tag !== null && <span className={`tag ${tag.signal}`}>{tag.word}</span>}
        </h3>
        <div className="said-line">
          <span className="said cut">{saidOfCause(cause, rights?.mayViewPayloads !== false)}</span>
          {queue !== null && (
            <TellMe alert={{ kind: 'DEAD_LETTERS', queue, threshold: 1 }} about={`of ${queue.name}`} />
          )}
        </div>
        <ChangeBefore
          cause={cause}
          changes={cause.changeBefore === null ? releases : [cause.changeBefore, ...releases]}
        />
      </div>
      <p className="when">
        <b>
          <Phrase pieces={when} />
        </b>
        <span>{state}</span>
      </p>
      <span className="buttons">
        <May mutation="replayDeadLetters">
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
            <span className="sr"> {titleOfDeath(cause, timeout)}</span>
          </button>
        </May>
        {!isByAnswer && (
          <May mutation={dismissing.mutation}>
            <button className="btn tiny quiet" type="button" onClick={onDismiss}>
              {dismissing.label}
              <span className="sr"> {titleOfDeath(cause, timeout)}</span>
            </button>
          </May>
        )}
      </span>
    </li>
  );
}

/**
 * Returns what else is hidden if a cause is dismissed in the row of a queue; null if nothing is.
 */
async function reachOf({ fingerprint, queue }: { fingerprint: string; queue: { id: string } | null }) {
  try {
    const { errorGroups } = await request(CauseReach, { filter: hiddenBy(fingerprint) });
    return reachBesides(errorGroups[0], queue?.id ?? null);
  } catch (error) {
    return `an unknown number of dead letters in other queues: ${(error as Error).message}`;
  }
}

/**
 * "Known, leave it": hides a cause for all people of the account until it occurs again, or shows it again. If other
 * queues have it, too, the page asks before it.
 */
async function setDismissed(
  { fingerprint }: { fingerprint: string },
  isDismissed: boolean,
  isUndo = false,
): Promise<void> {
  try {
    const outcome = isDismissed
      ? outcomeOf((await request(Dismiss, { fingerprint })).dismissErrorGroup)
      : outcomeOf((await request(Restore, { fingerprint })).restoreErrorGroup);
    if (!outcome.ok) throw new Error(outcome.message);
    const undo = { label: 'Undo', key: 'z', run: () => void setDismissed({ fingerprint }, !isDismissed, true) };
    toast({
      text: isDismissed ? 'Dismissed until it occurs again' : 'No longer dismissed',
      icon: isDismissed ? 'cancelled' : 'undo',
      ...(!isUndo && { action: undo }),
    });
  } catch (error) {
    toastFailure(`Not ${isDismissed ? 'dismissed' : 'restored'}: ${(error as Error).message}`);
  }
  // Dead letters are counted apart, too, for the number of those that the list leaves out.
  for (const name of ['Causes', 'DeadLetters']) void queryClient.invalidateQueries({ queryKey: [name] });
}
