import '../../../parts/bulk/bulk-bar.css';
import { useEffect, useState } from 'preact/compat';
import { number } from '../../../../query/words/format.ts';
import { may } from '../../../../query/words/rights.ts';
import { useRights } from '../../../api/rights.ts';
import { dropHash } from '../../../base/place.ts';
import { Icon } from '../../../parts/icon.tsx';
import { late } from '../../../parts/page/late.tsx';
import type { Ticks } from '../../../parts/use-ticks.ts';
import { type Choice, QUEUES_ACTIONS, type QueuesAction, SEVERAL } from '../model/several.ts';

const SeveralDialog = late(() => import('./several-dialog.tsx'));

/** The mutation of each, and of its undo. */
const NEEDS = {
  pause: [{ mutation: 'pauseQueues' }, { mutation: 'resumeQueues' }],
  resume: [{ mutation: 'resumeQueues' }, { mutation: 'pauseQueues' }],
  limit: [{ mutation: 'limitQueues' }, { mutation: 'restoreQueueLimits' }],
} as const;

/** Buttons for what can be done with several queues, each with a question before it. */
export function SeveralButtons({
  choice,
  chosen,
  names,
  size = '',
  only,
  of = '',
  isLinked = false,
  onDone,
}: {
  choice: Choice;
  /** Their number. */
  chosen: number;
  /** Their names, for the question. */
  names?: readonly string[];
  size?: 'tiny' | '';
  /** The one action that is offered; left out for all of them. */
  only?: QueuesAction;
  /** Names the queues for those who do not see where the button stands. */
  of?: string;
  /** Whether the address may open a question, as `#pause` of the palette does. */
  isLinked?: boolean;
  onDone?: () => void;
}) {
  const rights = useRights();
  const [question, setQuestion] = useState<{ action: QueuesAction; choice: Choice } | null>(null);
  const offered = QUEUES_ACTIONS.filter(
    (name) => (only ?? name) === name && NEEDS[name].every(({ mutation }) => may(rights, mutation)),
  );
  useEffect(() => {
    if (!isLinked) return;
    const ask = () => {
      const action = offered.find((one) => location.hash === `#${one}`);
      if (action === undefined) return;
      dropHash();
      setQuestion({ action, choice });
    };
    ask();
    // From the palette on this page. On the way to another one, these buttons are gone by then.
    let timer: ReturnType<typeof setTimeout> | undefined;
    const askLater = () => {
      timer = setTimeout(ask);
    };
    addEventListener('pushState', askLater);
    return () => {
      clearTimeout(timer);
      removeEventListener('pushState', askLater);
    };
  });
  return (
    <>
      {offered.map((action) => (
        <button
          key={action}
          type="button"
          className={`btn ${size}`.trim()}
          onClick={() => setQuestion({ action, choice })}
        >
          <Icon name={SEVERAL[action].icon} />
          {SEVERAL[action].button}
          {of !== '' && <span className="sr"> {of}</span>}
        </button>
      ))}
      {question !== null && (
        <SeveralDialog
          {...question}
          chosen={chosen}
          names={names}
          onDone={() => {
            setQuestion(null);
            onDone?.();
          }}
          onClose={() => setQuestion(null)}
        />
      )}
    </>
  );
}

/** The bar with the actions on the selected queues, which are among `queues`. */
export function QueuesBar({ ticks, queues }: { ticks: Ticks; queues: readonly { id: string; name: string }[] }) {
  if (ticks.ids.size === 0) return null;
  return (
    <div className="bulk">
      <span>
        <b>{number(ticks.ids.size)} selected.</b> Rows stay in place.
      </span>
      <span className="end">
        <SeveralButtons
          choice={{ ids: [...ticks.ids] }}
          chosen={ticks.ids.size}
          names={queues.flatMap(({ id, name }) => (ticks.ids.has(id) ? [name] : []))}
          size="tiny"
          onDone={ticks.clear}
        />
        <button type="button" className="btn quiet icon tiny" aria-label="Clear selection" onClick={ticks.clear}>
          <Icon name="x" />
        </button>
      </span>
    </div>
  );
}
