import '../../parts/filter-box.css';
import '../../parts/suggest.css';
import { lazy, type RefObject, Suspense, useLayoutEffect, useRef, useState } from 'react';
import {
  type DeadChip,
  type DeadFilter,
  formatDeadChip,
  isShownChip,
  labelOfDeadChip,
  removeDeadChip,
} from '../../model/dead/filter.ts';
import { Icon } from '../../parts/icon.tsx';

/** The suggestions and their combobox are loaded while the first rows are: nothing waits for them. */
const DeadFilterInput = lazy(() => import('./dead-filter-input.tsx'));

export interface DeadFilterBoxProps {
  filter: DeadFilter;
  onChange: (filter: DeadFilter) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}

export interface DeadFilterInputProps extends DeadFilterBoxProps {
  text: string;
  onText: (text: string) => void;
  /** Whether the plain input had the focus, which the one with suggestions then takes over. */
  hadFocus: RefObject<boolean>;
}

export const INPUT_PROPS = {
  'aria-label': 'Add a condition',
  placeholder: 'Add: queue, reason, code, time of death',
  autoComplete: 'off',
  spellCheck: false,
};

/** Chips and one input, as on Jobs, with the words of dead letters. */
export function DeadFilterBox({ filter, onChange, inputRef }: DeadFilterBoxProps) {
  const [text, setText] = useState('');
  const hadFocus = useRef(false);
  const input = { text, onText: setText, filter, onChange, inputRef, hadFocus };
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
        <Suspense fallback={<PlainInput {...input} />}>
          <DeadFilterInput {...input} />
        </Suspense>
        <kbd>/</kbd>
      </search>
    </div>
  );
}

function PlainInput({ text, onText, inputRef, hadFocus }: DeadFilterInputProps) {
  useLayoutEffect(
    () => () => {
      hadFocus.current = document.activeElement === inputRef.current;
    },
    [inputRef, hadFocus],
  );
  return <input ref={inputRef} {...INPUT_PROPS} value={text} onChange={(event) => onText(event.target.value)} />;
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
