import './palette.css';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { JOBS } from '../../query/filter/jobs.ts';
import { useRights } from '../api/rights.ts';
import { serverNow } from '../base/clock.ts';
import { preferences } from '../base/preferences.ts';
import { useStore } from '../base/store.ts';
import { useSettled } from '../base/use-settled.ts';
import { useCombobox } from '../parts/filter/combobox.ts';
import { useSavedViews } from '../parts/filter/saved-views.tsx';
import { SuggestList } from '../parts/filter/suggest-list.tsx';
import { useKnown } from '../parts/filter/use-known.ts';
import { useFoundQueues } from '../parts/found-queues.tsx';
import { Icon } from '../parts/icon.tsx';
import { typedMeanwhile } from '../parts/page/coming.tsx';
import { activeCommands } from '../parts/page/keys.ts';
import { setQueuePaused } from '../parts/pause-queue.ts';
import { useIsLate } from '../parts/states.tsx';
import { useModal } from '../parts/use-modal.ts';
import { type Found, paletteItems, queueActionOf } from './palette-items.ts';

/** Find or do anything: ids, queues, screens, and the commands of this screen. `>` shows commands only. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  // The commands of the screen below, before the dialog is open.
  const [screenCommands] = useState(activeCommands);
  const { queues, isAsking } = useWantedQueues(text);
  const rights = useRights();
  const views = useSavedViews().data?.savedViews;
  const favourites = useStore(preferences, (all) => all.favourites);
  const { known, isSearching } = useKnown(JOBS, text.startsWith('>') ? '' : text);
  const isLookingUp = isAsking || isSearching;
  const isLate = useIsLate(isLookingUp);
  const items = useMemo(
    () =>
      paletteItems(text, screenCommands, queues, rights, views, { known, now: serverNow() }, { favourites, setPaused }),
    [text, screenCommands, queues, rights, views, known, favourites],
  );

  useModal(dialog);
  useLayoutEffect(() => setText(typedMeanwhile()), []);
  const combobox = useCombobox({
    count: items.length,
    label: 'Results',
    onText: setText,
    isSearching: isLookingUp && text !== '' && items[0]?.id !== 'job',
    choose: (index) => {
      const item = items[index];
      if (item === undefined) return true;
      if ('text' in item) {
        setText(item.text);
        return true;
      }
      onClose();
      if ('path' in item) navigate(item.path);
      else item.run();
      return false;
    },
    isAlwaysOpen: true,
  });

  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Find or do anything"
      onCancel={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !event.isComposing) onClose();
      }}
    >
      <div className="ask">
        <Icon name="search" />
        <input
          {...combobox.inputProps}
          aria-label="Find or do anything"
          placeholder="A queue, a job’s id, a value of a payload, a command"
          spellcheck={false}
          value={text}
        />
        <kbd>Esc</kbd>
      </div>
      <div className="suggest">
        <SuggestList items={items} combobox={combobox}>
          {({ icon, label, hint }, isMarked) => (
            <>
              <Icon name={icon} />
              <span className="cut">{label}</span>
              <em>{isMarked ? <kbd>↵</kbd> : hint}</em>
            </>
          )}
        </SuggestList>
        {items.length === 0 && !isLookingUp && <p className="none">Nothing has this name.</p>}
        <footer>
          <span role="status">{isLate ? 'Searching…' : 'A job’s id opens the job'}</span>
          <span>
            <kbd>&gt;</kbd> commands only, also &gt;pause QUEUE
          </span>
        </footer>
      </div>
    </dialog>
  );
}

const setPaused = (queue: Found, isPaused: boolean) => void setQueuePaused(queue, isPaused);

function useWantedQueues(text: string): { queues: readonly Found[]; isAsking: boolean } {
  const action = queueActionOf(text);
  const wanted = action?.name ?? text;
  const search = useSettled(wanted);
  const enabled = action !== null || !text.startsWith('>');
  const { queues, isFetching } = useFoundQueues(search, { enabled, staleTime: 0 });
  return { queues, isAsking: isFetching || search !== wanted.trim() };
}
