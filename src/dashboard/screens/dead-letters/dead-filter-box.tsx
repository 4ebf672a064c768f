import '../../parts/filter-box.css';
import '../../parts/suggest.css';
import { useQuery } from '@tanstack/react-query';
import { useCombobox } from 'downshift';
import { type KeyboardEvent, type RefObject, useMemo, useState } from 'react';
import { SearchQueues } from '../../graphql/operations/shell.ts';
import { keepOld, query } from '../../graphql/query.ts';
import {
  addDeadChip,
  type DeadChip,
  type DeadFilter,
  formatDeadChip,
  isShownChip,
  isValidDeadFilter,
  labelOfDeadChip,
  parseDeadTerm,
  removeDeadChip,
} from '../../model/dead/filter.ts';
import { deadSuggestions } from '../../model/dead/suggest.ts';
import { termsOf } from '../../model/filter/parse.ts';
import { Icon } from '../../parts/icon.tsx';

/** Chips and one input, as on Jobs, with the words of dead letters. */
export function DeadFilterBox({
  filter,
  onChange,
  inputRef,
}: {
  filter: DeadFilter;
  onChange: (filter: DeadFilter) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}) {
  const [text, setText] = useState('');
  const queue = text.match(/^queue:(.*)$/)?.[1] ?? text;
  const queues = useQuery({ ...query(SearchQueues, { search: queue.trim() }), ...keepOld, enabled: text !== '' });
  const items = useMemo(
    () => [...deadSuggestions(text, queues.data?.queues.nodes.map(({ name }) => name) ?? [])],
    [text, queues.data],
  );
  const add = (chips: readonly DeadChip[]) => {
    onChange(chips.reduce(addDeadChip, filter));
    setText('');
  };
  const choose = (term: string) => (term.endsWith(':') ? setText(term) : add([parseDeadTerm(term)]));
  const { getInputProps, getMenuProps, getItemProps, highlightedIndex, isOpen } = useCombobox({
    items,
    inputValue: text,
    selectedItem: null,
    itemToString: () => text,
    stateReducer: (_state, { type, changes }) =>
      type === useCombobox.stateChangeTypes.InputKeyDownEnter || type === useCombobox.stateChangeTypes.ItemClick
        ? { ...changes, isOpen: changes.selectedItem?.term.endsWith(':') === true, highlightedIndex: -1 }
        : changes,
    onStateChange: ({ selectedItem }) => {
      if (selectedItem != null) choose(selectedItem.term);
    },
  });
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const shown = filter.filter(isShownChip);
    if (event.key === 'Enter' && highlightedIndex < 0 && text.trim() !== '') {
      event.preventDefault();
      const typed = termsOf(text).map(parseDeadTerm);
      const [first] = items;
      // A bare word is no condition, so the first offer is taken: errors that contain it.
      if (isValidDeadFilter(typed) || first === undefined) add(typed);
      else choose(first.term);
    } else if (event.key === 'Tab' && !event.shiftKey && isOpen && text !== '') {
      const term = (items[highlightedIndex] ?? items[0])?.term;
      if (term === undefined || term === text) return;
      event.preventDefault();
      setText(term);
    } else if (event.key === 'Backspace' && text === '' && shown.length > 0) {
      event.preventDefault();
      const last = shown.at(-1) as DeadChip;
      setText(formatDeadChip(last));
      onChange(removeDeadChip(filter, last));
    } else if (event.key === 'Escape' && !isOpen) {
      event.currentTarget.blur();
    }
  };
  const isShown = isOpen && items.length > 0;
  return (
    <div className="filter-box">
      <search className="filter">
        <Icon name="search" />
        {filter.filter(isShownChip).map((chip) => (
          <ChipOf
            key={formatDeadChip(chip)}
            chip={chip}
            onRemove={() => {
              onChange(removeDeadChip(filter, chip));
              inputRef.current?.focus();
            }}
          />
        ))}
        <input
          {...getInputProps({
            ref: inputRef,
            'aria-label': 'Add a condition',
            onKeyDown,
            // React's own handler, as downshift's is late for fast typing.
            onChange: (event) => setText((event.target as HTMLInputElement).value),
            placeholder: 'Add: queue, reason, error, code, time of death',
            autoComplete: 'off',
            spellCheck: false,
          })}
        />
        <kbd>/</kbd>
      </search>
      <div className="suggest" hidden={!isShown}>
        <ul {...getMenuProps({ 'aria-label': 'Suggestions' })}>
          {isShown &&
            items.map((item, index) => (
              <li key={item.term} {...getItemProps({ item, index })}>
                <span className="cut">{item.label}</span>
                <em>{item.hint}</em>
              </li>
            ))}
        </ul>
      </div>
    </div>
  );
}

function ChipOf({ chip, onRemove }: { chip: DeadChip; onRemove: () => void }) {
  const { key, value } = labelOfDeadChip(chip);
  const isUnknown = chip.word === 'unknown';
  return (
    <span className={isUnknown ? 'chip bad' : 'chip'} title={isUnknown ? chip.problem : formatDeadChip(chip)}>
      <span>
        {key !== '' && <span className="k">{key} </span>}
        <span className="v">{value}</span>
      </span>
      <button type="button" aria-label={`Remove ${key} ${value}`} onClick={onRemove}>
        <Icon name="x" />
      </button>
    </span>
  );
}
