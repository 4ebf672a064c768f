import {
  type ChangeEvent,
  type KeyboardEvent,
  type MouseEvent,
  useEffect,
  useLayoutEffect,
  useState,
} from 'preact/compat';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { useIsLate } from '../states.tsx';

/**
 * The combobox of ARIA: an input with a list below it. The focus stays in the input; arrow keys mark an option, Enter
 * takes it, Escape closes the list. Enter without a choice waits until the look-ups have answered, or the text changes.
 */
interface ComboboxOptions {
  /** Number of options in the list. */
  count: number;
  /** Name of the list for screen readers. */
  label: string;
  onText: (text: string) => void;
  /** Whether look-ups may still change the options. */
  isSearching: boolean;
  /**
   * Takes an option; -1 if none was marked. Returns true if the list stays open,
   * as the next choice follows from this one.
   */
  choose: (index: number) => boolean;
  /** The list cannot be closed, and its first option is marked until another one is. */
  isAlwaysOpen?: boolean;
}

interface ListState {
  isOpen: boolean;
  index: number;
  /** An option that a key has marked is scrolled to; one below the pointer must stay where it is. */
  isByKey: boolean;
  /** Enter waits for the look-ups. */
  isEntered?: boolean;
}

/** Then Enter takes what is there. */
const MAX_WAIT_MS = 3000;

export function useCombobox({ count, label, onText, isSearching, choose, isAlwaysOpen = false }: ComboboxOptions) {
  const id = useUniqueId();
  const closed: ListState = { isOpen: isAlwaysOpen, index: isAlwaysOpen ? 0 : -1, isByKey: false };
  const [state, setState] = useState(closed);
  const isOpen = state.isOpen && count > 0;
  const index = isOpen ? Math.min(state.index, count - 1) : -1;
  const optionId = (n: number) => `${id}-${n}`;
  const marked = index < 0 ? undefined : optionId(index);

  const { isByKey } = state;
  useEffect(() => {
    if (isByKey && marked !== undefined) document.getElementById(marked)?.scrollIntoView({ block: 'nearest' });
  }, [isByKey, marked]);

  const isEntered = state.isEntered === true;
  const isDue = useIsLate(isEntered, MAX_WAIT_MS) || (isEntered && !isSearching);
  useLayoutEffect(() => {
    if (isDue) take(index);
  });

  const open = () => setState({ ...closed, isOpen: true });
  const take = (n: number) => setState({ ...closed, isOpen: choose(n) || isAlwaysOpen });
  const move = (step: 1 | -1) => {
    const from = index < 0 && step < 0 ? 0 : index;
    setState({ isOpen: true, index: count === 0 ? -1 : (from + step + count) % count, isByKey: true });
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.defaultPrevented || event.isComposing) return;
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape' && isOpen && !isAlwaysOpen) setState(closed);
    else if (event.key !== 'Enter') return;
    else if (isSearching && !isByKey && index === closed.index) setState({ ...state, isEntered: true });
    else take(index);
    event.preventDefault();
  };

  return {
    isOpen,
    /** The marked option; -1 if there is none. */
    index,
    isEntered,
    open,
    inputProps: {
      role: 'combobox',
      'aria-autocomplete': 'list',
      'aria-expanded': isOpen,
      'aria-controls': id,
      'aria-activedescendant': marked,
      autoComplete: 'off',
      onKeyDown,
      onClick: () => {
        if (!isOpen) open();
      },
      onBlur: () => setState(closed),
      onChange: (event: ChangeEvent<HTMLInputElement>) => {
        onText(event.currentTarget.value);
        open();
      },
    } as const,
    listProps: {
      id,
      role: 'listbox',
      'aria-label': label,
      // A click in the list does not take the focus from the input.
      onMouseDown: (event: MouseEvent<HTMLElement>) => event.preventDefault(),
    } as const,
    optionProps: (n: number) =>
      ({
        id: optionId(n),
        role: 'option',
        'aria-selected': n === index,
        onMouseMove: () => {
          if (n !== index && !isEntered) setState({ isOpen: true, index: n, isByKey: false });
        },
        onClick: () => take(n),
      }) as const,
  };
}

export type Combobox = ReturnType<typeof useCombobox>;
