import { useQuery } from '@tanstack/react-query';
import { useCombobox } from 'downshift';
import { type KeyboardEvent, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { SuggestPaths, SuggestValues } from '../graphql/operations/jobs.ts';
import { SearchQueues } from '../graphql/operations/shell.ts';
import { keepOld, query } from '../graphql/query.ts';
import { addChip, type Chip, isValid } from '../model/filter/chips.ts';
import { formatChip } from '../model/filter/format.ts';
import { parseFilter } from '../model/filter/parse.ts';
import { completionOf, type Known, lookUpsFor, type Suggestion, suggestionsFor } from '../model/filter/suggest.ts';
import { type FilterInputProps, inputProps } from './filter-box.tsx';

const DELAY_MS = 120;

/** The input of the filter box, with suggestions below it. */
export default function FilterInput({ text, onText: setText, filter, onChange, inputRef, hadFocus }: FilterInputProps) {
  const [, navigate] = useLocation();
  const known = useKnown(text);
  useEffect(() => {
    if (hadFocus.current) inputRef.current?.focus();
  }, [hadFocus, inputRef]);
  const items = useMemo(() => suggestionsFor(text, known), [text, known]);

  const add = (chips: readonly Chip[]) => {
    onChange(chips.reduce(addChip, filter));
    setText('');
  };
  const choose = ({ does }: Suggestion) => {
    if ('chip' in does) add([does.chip]);
    else if ('text' in does) setText(does.text);
    else navigate(`/jobs/${does.job}`);
  };

  const { getInputProps, getMenuProps, getItemProps, highlightedIndex, isOpen, openMenu } = useCombobox<Suggestion>({
    items,
    inputValue: text,
    selectedItem: null,
    itemToString: () => text,
    // Choosing keeps the menu open, as most filters have more than one condition.
    stateReducer: (_state, { type, changes }) =>
      type === useCombobox.stateChangeTypes.InputKeyDownEnter || type === useCombobox.stateChangeTypes.ItemClick
        ? {
            ...changes,
            isOpen: changes.selectedItem != null && 'text' in changes.selectedItem.does,
            highlightedIndex: -1,
          }
        : changes,
    onStateChange: ({ selectedItem }) => {
      if (selectedItem != null) choose(selectedItem);
    },
  });

  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const highlighted = items[highlightedIndex];
    if (event.key === 'Enter' && highlighted === undefined && text.trim() !== '') {
      // What is typed in full is taken as it is; of a bare word, the first offer.
      const typed = parseFilter(text);
      const [first] = items;
      event.preventDefault();
      if (isValid(typed)) add(typed);
      else if (first !== undefined) choose(first);
    } else if (event.key === 'Tab' && !event.shiftKey && isOpen && text !== '') {
      const completion = completionOf(highlighted ?? items[0] ?? ({ does: { job: '' } } as Suggestion));
      if (completion === null || completion === text) return;
      event.preventDefault();
      setText(completion);
    } else if (event.key === 'Backspace' && text === '' && filter.length > 0) {
      event.preventDefault();
      setText(formatChip(filter.at(-1) as Chip));
      onChange(filter.slice(0, -1));
      openMenu();
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
          onKeyDown,
          onChange: (event) => setText((event.target as HTMLInputElement).value),
          ...inputProps(filter),
        })}
      />
      <div className="suggest" hidden={!isShown}>
        <ul {...getMenuProps({ 'aria-label': 'Suggestions' })}>
          {isShown &&
            items.map((item, index) => (
              <Option
                key={item.id}
                item={item}
                text={text}
                isFirstOfGroup={item.group !== items[index - 1]?.group}
                props={getItemProps({ item, index })}
              />
            ))}
        </ul>
        <footer>
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> choose
          </span>
          <span>
            <kbd>Tab</kbd> complete
          </span>
          <span>
            <kbd>Enter</kbd> add
          </span>
          <span>
            <kbd>⌫</kbd> edits the last one
          </span>
        </footer>
      </div>
    </>
  );
}

function Option({
  item,
  text,
  isFirstOfGroup,
  props,
}: {
  item: Suggestion;
  text: string;
  isFirstOfGroup: boolean;
  props: object;
}) {
  const typed = text.replace(/^payload\./, '');
  const at = typed === '' ? -1 : item.label.toLowerCase().indexOf(typed.toLowerCase());
  return (
    <>
      {isFirstOfGroup && (
        <li className="group" role="presentation">
          {item.group}
        </li>
      )}
      <li {...props}>
        <span className={item.isCode ? 'mono cut' : 'cut'}>
          {at < 0 ? (
            item.label
          ) : (
            <>
              {item.label.slice(0, at)}
              <mark>{item.label.slice(at, at + typed.length)}</mark>
              {item.label.slice(at + typed.length)}
            </>
          )}
        </span>
        <em>{item.hint}</em>
      </li>
    </>
  );
}

const NOTHING: Known = { queues: [], paths: [], values: [] };

/** Asks the server, 120 ms after the last key. The old answer stays until the new one is there. */
export function useKnown(text: string): Known {
  const [settled, setSettled] = useState('');
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text.trim()), DELAY_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const { path, valuesOf, value, queue } = lookUpsFor(settled);
  // Paths that begin with the word, else the most frequent ones, in which it may be the value.
  const paths = useQuery({ ...query(SuggestPaths, { prefix: path ?? '' }), ...keepOld, enabled: path !== null });
  const isPath = (paths.data?.payloadPaths.length ?? 0) > 0;
  const common = useQuery({
    ...query(SuggestPaths, { prefix: '' }),
    enabled: path !== null && paths.isSuccess && !isPath,
  });
  const isExact = paths.data?.payloadPaths.some((one) => one.value === valuesOf) === true;
  const values = useQuery({
    ...query(SuggestValues, { path: valuesOf ?? '', prefix: value }),
    ...keepOld,
    enabled: valuesOf !== null && isExact,
  });
  const queues = useQuery({ ...query(SearchQueues, { search: queue ?? '' }), ...keepOld, enabled: queue !== null });
  return useMemo(() => {
    if (path === null && queue === null) return NOTHING;
    const found = (isPath ? paths.data : common.data)?.payloadPaths ?? [];
    return {
      queues: queue === null ? [] : (queues.data?.queues.nodes.map(({ name }) => name) ?? []),
      paths: path === null ? [] : found,
      values: isExact ? (values.data?.payloadValues ?? []) : [],
    };
  }, [path, queue, isPath, isExact, paths.data, common.data, values.data, queues.data]);
}
