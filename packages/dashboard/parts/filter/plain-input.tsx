import { type RefObject, useLayoutEffect } from 'preact/compat';
import { type Filter, mayUse, type Table } from '../../../query/filter/table.ts';
import { useRights } from '../../api/rights.ts';
import { useIsLate } from '../states.tsx';

export interface FilterBoxProps<T extends Table> {
  table: T;
  filter: Filter<T>;
  onChange: (filter: Filter<T>) => void;
  inputRef: RefObject<HTMLInputElement>;
  /** Whether the list waits for the answer to this filter. */
  isSearching?: boolean;
}

export interface FilterInputProps extends FilterBoxProps<Table> {
  text: string;
  onText: (text: string) => void;
  /** Whether the plain input had the focus, which the one with suggestions then takes over. */
  hadFocus: RefObject<boolean>;
}

/** The input until that with suggestions is there. */
export function PlainInput(props: FilterInputProps) {
  const { text, onText, inputRef, hadFocus } = props;
  useLayoutEffect(
    () => () => {
      hadFocus.current = document.activeElement === inputRef.current;
    },
    [inputRef, hadFocus],
  );
  return (
    <>
      <input
        ref={inputRef}
        {...useInputProps(props)}
        autoComplete="off"
        value={text}
        onChange={(event) => onText(event.currentTarget.value)}
      />
      <Searching isSearching={props.isSearching === true} />
    </>
  );
}

/** Its place is there from the start, so that nothing moves. */
export function Searching({ isSearching }: { isSearching: boolean }) {
  const isLate = useIsLate(isSearching);
  return (
    <span className="searching" role="status">
      {isLate && 'Searching…'}
    </span>
  );
}

export function useInputProps({ table, filter }: FilterInputProps) {
  const placeholder = table.placeholder?.(filter.length === 0, mayUse(table, 'payload', useRights()));
  return { 'aria-label': 'Add a condition', placeholder, spellcheck: false };
}
