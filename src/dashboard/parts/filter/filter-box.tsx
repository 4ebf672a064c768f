import './filter-box.css';
import { type ComponentType, lazy, type RefObject, Suspense, useId, useLayoutEffect, useRef, useState } from 'react';
import { useRights } from '../../api/rights.ts';
import { mayFilterBy } from '../../words/rights.ts';
import { Icon } from '../icon.tsx';

const Views = lazy(() => import('./saved-views.tsx'));

/** A chip as the filter box knows it: a condition, or text that is none, with its problem. */
export interface AnyChip {
  word: string;
  problem?: string;
}

/** A filter of chips as text, and what can be done with it: that of jobs, and that of dead letters. */
export interface FilterKind<Chip extends AnyChip> {
  placeholder: (isEmpty: boolean, seesPayloads: boolean) => string;
  parse: (text: string) => readonly Chip[];
  format: (chip: Chip) => string;
  label: (chip: Chip) => { key: string; value: string };
  add: (filter: readonly Chip[], chip: Chip) => readonly Chip[];
  remove: (filter: readonly Chip[], chip: Chip) => readonly Chip[];
  isShown: (chip: Chip) => boolean;
}

export interface FilterBoxProps<Chip extends AnyChip> {
  kind: FilterKind<Chip>;
  filter: readonly Chip[];
  onChange: (filter: readonly Chip[]) => void;
  inputRef: RefObject<HTMLInputElement | null>;
}

export interface FilterInputProps<Chip extends AnyChip> extends FilterBoxProps<Chip> {
  text: string;
  onText: (text: string) => void;
  /** Whether the plain input had the focus, which the one with suggestions then takes over. */
  hadFocus: RefObject<boolean>;
}

/**
 * Chips and one input. Text, chips and URL are one filter; what is chosen holds at once. `Enter` adds, `Tab` completes, `⌫`
 * makes the last chip text again. `Input` is loaded late: until it is there, a plain input takes the text.
 */
export function FilterBox<Chip extends AnyChip>({
  Input,
  ...props
}: FilterBoxProps<Chip> & { Input: ComponentType<FilterInputProps<Chip>> }) {
  const { kind, filter, onChange, inputRef } = props;
  const [text, setText] = useState('');
  const hadFocus = useRef(false);
  const input = { ...props, text, onText: setText, hadFocus };
  return (
    <div className="filter-box">
      <search className="filter">
        <Icon name="search" />
        {filter.filter(kind.isShown).map((chip) => (
          <ChipOf
            key={kind.format(chip)}
            kind={kind}
            chip={chip}
            onRemove={() => {
              onChange(kind.remove(filter, chip));
              inputRef.current?.focus();
            }}
          />
        ))}
        <Suspense fallback={<PlainInput {...input} />}>
          <Input {...input} />
        </Suspense>
        <ViewsMenu />
        <kbd>/</kbd>
      </search>
    </div>
  );
}

/** Here from the start, so that nothing moves when the input is there. */
function ViewsMenu() {
  const id = useId();
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="btn quiet tiny" popoverTarget={id}>
        Views
      </button>
      <div id={id} ref={menu} popover="auto" className="menu" onToggle={(event) => setOpen(event.newState === 'open')}>
        {isOpen && (
          <Suspense fallback={null}>
            <Views onChosen={() => menu.current?.hidePopover()} />
          </Suspense>
        )}
      </div>
    </>
  );
}

export function useInputProps<Chip extends AnyChip>({ kind, filter }: FilterBoxProps<Chip>) {
  const placeholder = kind.placeholder(filter.length === 0, mayFilterBy(useRights(), 'payload'));
  return { 'aria-label': 'Add a condition', placeholder, spellCheck: false };
}

function PlainInput<Chip extends AnyChip>(props: FilterInputProps<Chip>) {
  const { text, onText, inputRef, hadFocus } = props;
  useLayoutEffect(
    () => () => {
      hadFocus.current = document.activeElement === inputRef.current;
    },
    [inputRef, hadFocus],
  );
  return (
    <input
      ref={inputRef}
      {...useInputProps(props)}
      autoComplete="off"
      value={text}
      onChange={(event) => onText(event.target.value)}
    />
  );
}

function ChipOf<Chip extends AnyChip>({
  kind,
  chip,
  onRemove,
}: {
  kind: FilterKind<Chip>;
  chip: Chip;
  onRemove: () => void;
}) {
  const { key, value } = kind.label(chip);
  return (
    <span className={chip.word === 'unknown' ? 'chip bad' : 'chip'} title={chip.problem ?? kind.format(chip)}>
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
