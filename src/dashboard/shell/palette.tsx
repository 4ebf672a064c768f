import '../parts/suggest.css';
import './palette.css';
import { useQuery } from '@tanstack/react-query';
import { useCombobox } from 'downshift';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { SearchQueues } from '../graphql/operations/shell.ts';
import { keepOld, query } from '../graphql/query.ts';
import { Icon } from '../parts/icon.tsx';
import { activeCommands } from './keys.ts';
import { type PaletteItem, paletteItems } from './palette-items.ts';
import { useRights } from './rights.ts';

/** What the server is asked for follows the keys with this delay. */
const DELAY_MS = 120;

/** Find or do anything: ids, queues, screens, and the commands of this screen. `>` shows commands only. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [, navigate] = useLocation();
  // The commands of the screen below, before the dialog is open.
  const [screenCommands] = useState(activeCommands);
  const queues = useFoundQueues(text);
  const rights = useRights();
  const items = useMemo(
    () => paletteItems(text, screenCommands, queues, rights),
    [text, screenCommands, queues, rights],
  );

  useEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element?.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);

  const choose = (item: PaletteItem) => {
    onClose();
    if ('path' in item) navigate(item.path);
    else item.run();
  };
  const { getInputProps, getMenuProps, getItemProps, highlightedIndex } = useCombobox<PaletteItem>({
    items,
    isOpen: true,
    inputValue: text,
    selectedItem: null,
    defaultHighlightedIndex: 0,
    initialHighlightedIndex: 0,
    itemToString: (item) => item?.label ?? '',
    onStateChange: ({ selectedItem }) => {
      if (selectedItem != null) choose(selectedItem);
    },
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
        if (event.key === 'Escape') onClose();
      }}
    >
      <div className="ask">
        <Icon name="search" />
        <input
          {...getInputProps({
            'aria-label': 'Find or do anything',
            // React's own handler, as downshift's is late for fast typing.
            onChange: (event) => setText((event.target as HTMLInputElement).value),
            placeholder: 'A queue, a job’s id, a screen, a command',
            spellCheck: false,
          })}
        />
        <kbd>Esc</kbd>
      </div>
      <div className="suggest">
        <ul {...getMenuProps({ 'aria-label': 'Results' })}>
          {items.map((item, index) => (
            <PaletteOption
              key={item.id}
              item={item}
              isFirstOfGroup={item.group !== items[index - 1]?.group}
              isHighlighted={index === highlightedIndex}
              props={getItemProps({ item, index })}
            />
          ))}
        </ul>
        {items.length === 0 && <p className="none">Nothing has this name.</p>}
        <footer>
          <span>A job’s id opens the job</span>
          <span>
            <kbd>&gt;</kbd> commands only
          </span>
        </footer>
      </div>
    </dialog>
  );
}

function PaletteOption({
  item,
  isFirstOfGroup,
  isHighlighted,
  props,
}: {
  item: PaletteItem;
  isFirstOfGroup: boolean;
  isHighlighted: boolean;
  props: object;
}) {
  return (
    <>
      {isFirstOfGroup && (
        <li className="group" role="presentation">
          {item.group}
        </li>
      )}
      <li {...props}>
        <Icon name={item.icon} />
        <span className="cut">{item.label}</span>
        <em>{isHighlighted ? <kbd>↵</kbd> : item.hint}</em>
      </li>
    </>
  );
}

function useFoundQueues(text: string): readonly { name: string; paused: boolean }[] {
  const [search, setSearch] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSearch(text.trim()), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const isAsked = !search.startsWith('>');
  const asked = useQuery({ ...query(SearchQueues, { search }), ...keepOld, enabled: isAsked });
  return isAsked ? (asked.data?.queues.nodes ?? NONE) : NONE;
}

const NONE: readonly { name: string; paused: boolean }[] = [];
