import { useCombobox } from 'downshift';
import { type KeyboardEvent, useEffect, useMemo } from 'react';
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
import { useKnown } from '../../parts/filter-input.tsx';
import { type DeadFilterInputProps, INPUT_PROPS } from './dead-filter-box.tsx';

/** A word or a path that wants a value. */
const isStart = (term: string) => /[:.]$/.test(term);

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
  const known = useKnown(text);
  const items = useMemo(() => [...deadSuggestions(text, known)], [text, known]);
  const add = (chips: readonly DeadChip[]) => {
    onChange(chips.reduce(addDeadChip, filter));
    setText('');
  };
  const choose = (term: string) => (isStart(term) ? setText(term) : add([parseDeadTerm(term)]));
  const { getInputProps, getMenuProps, getItemProps, highlightedIndex, isOpen } = useCombobox({
    items,
    inputValue: text,
    selectedItem: null,
    itemToString: () => text,
    stateReducer: (_state, { type, changes }) =>
      type === useCombobox.stateChangeTypes.InputKeyDownEnter || type === useCombobox.stateChangeTypes.ItemClick
        ? { ...changes, isOpen: isStart(changes.selectedItem?.term ?? ''), highlightedIndex: -1 }
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
