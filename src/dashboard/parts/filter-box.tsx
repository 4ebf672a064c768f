import './suggest.css';
import './filter-box.css';
import { lazy, type RefObject, Suspense, useLayoutEffect, useRef, useState } from 'react';
import { type Chip, type Filter, labelOfChip, removeChip } from '../model/filter/chips.ts';
import { formatChip } from '../model/filter/format.ts';
import { mayFilterBy, type Rights } from '../model/rights.ts';
import { useRights } from '../shell/rights.ts';
import { Icon } from './icon.tsx';

/** The suggestions and their combobox are loaded while the first rows are: nothing waits for them. */
const FilterInput = lazy(() => import('./filter-input.tsx'));

export interface FilterBoxProps {
  filter: Filter;
  onChange: (filter: Filter) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}

/**
 * Chips and one input. Text, chips and URL are one filter; what is chosen holds at once. `Enter` adds, `Tab` completes, `⌫`
 * makes the last chip text again.
 */
export function FilterBox({ filter, onChange, inputRef }: FilterBoxProps) {
  const [text, setText] = useState('');
  const hadFocus = useRef(false);
  return (
    <div className="filter-box">
      <div className="filter" role="search">
        <Icon name="search" />
        {filter.map((chip, index) => (
          <FilterChip
            key={formatChip(chip)}
            chip={chip}
            onRemove={() => {
              onChange(removeChip(filter, index));
              inputRef.current?.focus();
            }}
          />
        ))}
        <Suspense
          fallback={<PlainInput text={text} onText={setText} filter={filter} inputRef={inputRef} hadFocus={hadFocus} />}
        >
          <FilterInput
            text={text}
            onText={setText}
            filter={filter}
            onChange={onChange}
            inputRef={inputRef}
            hadFocus={hadFocus}
          />
        </Suspense>
        <kbd>/</kbd>
      </div>
    </div>
  );
}

export interface FilterInputProps extends FilterBoxProps {
  text: string;
  onText: (text: string) => void;
  /** Whether the plain input had the focus, which the one with suggestions then takes over. */
  hadFocus: RefObject<boolean>;
}

export function inputProps(filter: Filter, rights: Rights | null) {
  const words = mayFilterBy(rights, 'payload')
    ? 'state, queue, error, code, time, payload path'
    : 'state, queue, code, time';
  return {
    'aria-label': 'Add a condition',
    placeholder: filter.length === 0 ? `Filter: ${words}` : 'Add a condition',
    autoComplete: 'off',
    spellCheck: false,
  };
}

function PlainInput({ text, onText, filter, inputRef, hadFocus }: Omit<FilterInputProps, 'onChange'>) {
  useLayoutEffect(
    () => () => {
      hadFocus.current = document.activeElement === inputRef.current;
    },
    [inputRef, hadFocus],
  );
  return (
    <input
      ref={inputRef}
      {...inputProps(filter, useRights())}
      value={text}
      onChange={(event) => onText(event.target.value)}
    />
  );
}

function FilterChip({ chip, onRemove }: { chip: Chip; onRemove: () => void }) {
  const { key, value } = labelOfChip(chip);
  const isUnknown = chip.word === 'unknown';
  return (
    <span className={isUnknown ? 'chip bad' : 'chip'} title={isUnknown ? chip.problem : formatChip(chip)}>
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
