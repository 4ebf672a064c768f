import { type ChangeEvent, type KeyboardEvent, type MouseEvent, useEffect, useId, useState } from 'preact/compat';

/**
 * The combobox of ARIA: an input with a list below it. The focus stays in the input; arrow keys mark an option, Enter
 * takes it, Escape closes the list.
 */
export interface ComboboxOptions {
  /** Number of options in the list. */
  count: number;
  /** Name of the list for screen readers. */
  label: string;
  onText: (text: string) => void;
  /** Takes an option. Returns true if the list stays open, as the next choice follows from this one. */
  choose: (index: number) => boolean;
  /** The list cannot be closed, and its first option is marked until another one is. */
  isAlwaysOpen?: boolean;
}

interface ListState {
  isOpen: boolean;
  index: number;
  /** An option that a key has marked is scrolled to; one below the pointer must stay where it is. */
  isByKey: boolean;
}

export function useCombobox({ count, label, onText, choose, isAlwaysOpen = false }: ComboboxOptions) {
  const id = useId();
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
    else if (event.key === 'Enter' && index >= 0) take(index);
    else if (event.key === 'Escape' && isOpen && !isAlwaysOpen) setState(closed);
    else return;
    event.preventDefault();
  };

  return {
    isOpen,
    /** The marked option; -1 if there is none. */
    index,
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
          if (n !== index) setState({ isOpen: true, index: n, isByKey: false });
        },
        onClick: () => take(n),
      }) as const,
  };
}

export type Combobox = ReturnType<typeof useCombobox>;
