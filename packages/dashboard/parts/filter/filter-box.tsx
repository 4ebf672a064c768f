import './filter-box.css';
import { lazy, Suspense, useRef, useState } from 'preact/compat';
import { formatChip, labelOf, removeChip, shownChips } from '../../../query/filter/engine.ts';
import type { Chip, Table } from '../../../query/filter/table.ts';
import { afterFirstRead } from '../../api/first-read.ts';
import { useUniqueId } from '../../base/use-unique-id.ts';
import { Icon } from '../icon.tsx';
import { late } from '../page/late.tsx';
import { type FilterBoxProps, PlainInput } from './plain-input.tsx';

const FilterInput = lazy(() => afterFirstRead(() => import('./filter-input.tsx')));
const Views = late(() => import('./saved-views.tsx'));

/**
 * Chips and one input. Text, chips and URL are one filter; what is chosen holds at once. `Enter` adds, `Tab` completes,
 * `⌫` makes the last chip text again. The input with suggestions is loaded late: until it is there, a plain input takes
 * the text.
 */
export function FilterBox<T extends Table>({ inputRef, isSearching = false, ...props }: FilterBoxProps<T>) {
  // The words of the table go in and out together with it.
  const { table, filter, onChange } = props as unknown as FilterBoxProps<Table>;
  const [text, setText] = useState('');
  const hadFocus = useRef(false);
  const input = { table, filter, onChange, inputRef, isSearching, text, onText: setText, hadFocus };
  return (
    <div className="filter-box">
      <search className="filter" aria-busy={isSearching}>
        <Icon name="search" />
        {shownChips(table, filter).map((chip) => (
          <ChipOf
            key={formatChip(table, chip)}
            table={table}
            chip={chip}
            onRemove={() => {
              onChange(removeChip(table, filter, chip));
              inputRef.current?.focus();
            }}
          />
        ))}
        <Suspense fallback={<PlainInput {...input} />}>
          <FilterInput {...input} />
        </Suspense>
        <ViewsMenu />
        <kbd>/</kbd>
      </search>
    </div>
  );
}

/** Here from the start, so that nothing moves when the input is there. */
function ViewsMenu() {
  const id = useUniqueId();
  const menu = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="btn quiet tiny" popoverTarget={id}>
        Views
      </button>
      <div id={id} ref={menu} popover="auto" className="menu" onToggle={(event) => setOpen(event.newState === 'open')}>
        {isOpen && <Views onClose={() => menu.current?.hidePopover()} />}
      </div>
    </>
  );
}

function ChipOf({ table, chip, onRemove }: { table: Table; chip: Chip; onRemove: () => void }) {
  const { key, value } = labelOf(table, chip);
  const problem = 'problem' in chip ? chip.problem : null;
  return (
    <span className={problem === null ? 'chip' : 'chip bad'} title={problem ?? formatChip(table, chip)}>
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
