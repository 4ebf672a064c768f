import { useQuery } from '@tanstack/react-query';
import { useCombobox } from 'downshift';
import { type KeyboardEvent, useEffect, useMemo } from 'react';
import { SearchQueues } from '../../graphql/operations/shell.ts';
import { keepOld, query } from '../../graphql/query.ts';
import {
  addDeadChip,
  type DeadChip,
  formatDeadChip,
  isShownChip,
  isValidDeadFilter,
  parseDeadTerm,
  removeDeadChip,
} from '../../model/dead/filter.ts';
import { deadSuggestions } from '../../model/dead/suggest.ts';
import { termsOf } from '../../model/filter/parse.ts';
import { mayFilterBy } from '../../model/rights.ts';
import { useRights } from '../../shell/rights.ts';
import { type DeadFilterInputProps, INPUT_PROPS } from './dead-filter-box.tsx';

/** The input of the filter box, with suggestions below it. */
export default function DeadFilterInput({
  text,
  onText: setText,
  filter,
  onChange,
  inputRef,
  hadFocus,
}: DeadFilterInputProps) {
  useEffect(() => {
    if (hadFocus.current) inputRef.current?.focus();
  }, [hadFocus, inputRef]);
  const queue = text.match(/^queue:(.*)$/)?.[1] ?? text;
  const queues = useQuery({ ...query(SearchQueues, { search: queue.trim() }), ...keepOld, enabled: text !== '' });
  const rights = useRights();
  const items = useMemo(
    () =>
      deadSuggestions(text, queues.data?.queues.nodes.map(({ name }) => name) ?? []).filter(({ term }) =>
        mayFilterBy(rights, term),
      ),
    [text, queues.data, rights],
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
      // A bare word is no condition, so the first offer is taken.
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
    <>
      <input
        {...getInputProps({
          ref: inputRef,
          ...INPUT_PROPS,
          onKeyDown,
          // React's own handler, as downshift's is late for fast typing.
          onChange: (event) => setText((event.target as HTMLInputElement).value),
        })}
      />
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
    </>
  );
}
