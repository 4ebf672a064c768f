import { type KeyboardEvent, useLayoutEffect, useMemo } from 'preact/compat';
import { useLocation } from 'wouter-preact';
import { addChip, formatChip, isValid, parseTerm, removeChip, shownChips } from '../../../query/filter/engine.ts';
import { completionOf, suggestionsFor } from '../../../query/filter/suggest.ts';
import type { Filter } from '../../../query/filter/table.ts';
import { termsOf } from '../../../query/filter/text.ts';
import { useRights } from '../../api/rights.ts';
import { serverNow } from '../../base/clock.ts';
import { useCombobox } from './combobox.ts';
import { type FilterInputProps, Searching, useInputProps } from './plain-input.tsx';
import { SuggestList } from './suggest-list.tsx';
import { useKnown } from './use-known.ts';

/** The input of a filter box, with suggestions below it. */
export default function FilterInput(props: FilterInputProps) {
  const { table, filter, onChange, text, onText, inputRef, hadFocus } = props;
  const rights = useRights();
  const { known, isSearching } = useKnown(table, text);
  const offers = useMemo(
    () => suggestionsFor(table, text, known, { rights, now: serverNow() }),
    [table, text, known, rights],
  );
  const inputProps = useInputProps(props);
  const [, navigate] = useLocation();
  // Before the next key.
  useLayoutEffect(() => {
    if (hadFocus.current) inputRef.current?.focus();
  }, [hadFocus, inputRef]);

  const add = (chips: Filter) => {
    onChange(chips.reduce((all, chip) => addChip(table, all, chip), filter));
    onText('');
  };
  const [first] = offers;
  const typed = termsOf(text).map((term) => parseTerm(table, term, serverNow()));
  const isComplete = isValid(typed);
  const combobox = useCombobox({
    count: offers.length,
    label: 'Suggestions',
    onText,
    isSearching: isSearching && !isComplete && first?.id !== 'job',
    choose: (index) => {
      // A full condition is added as it is; a bare word adds the first offer. Else the chip says what is wrong.
      const does = (offers[index] ?? (isComplete ? undefined : first))?.does ?? { chips: typed };
      if ('text' in does) onText(does.text);
      else if ('job' in does) navigate(`/jobs/${does.job}`);
      else if (text.trim() !== '' || index >= 0) add(does.chips);
      return 'text' in does;
    },
  });
  const { isOpen, index, open } = combobox;

  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    // The key belongs to the input method, in which Enter takes a spelling.
    if (event.isComposing) return;
    if (event.key === 'Tab' && !event.shiftKey && isOpen && text !== '') {
      const completion = completionOf(table, offers[index] ?? first);
      if (completion === null || completion === text) return;
      event.preventDefault();
      onText(completion);
      open();
    } else if (event.key === 'Backspace' && text === '') {
      const last = shownChips(table, filter).at(-1);
      if (last === undefined) return;
      event.preventDefault();
      onText(formatChip(table, last));
      onChange(removeChip(table, filter, last));
      open();
    } else if (event.key === 'Escape' && !isOpen) {
      event.currentTarget.blur();
    } else {
      combobox.inputProps.onKeyDown(event);
    }
  };

  return (
    <>
      <input ref={inputRef} {...combobox.inputProps} {...inputProps} value={text} onKeyDown={onKeyDown} />
      <Searching isSearching={props.isSearching === true || combobox.isEntered} />
      <div className="suggest" hidden={!isOpen}>
        <SuggestList items={isOpen ? offers : []} combobox={combobox}>
          {({ label, hint, isCode }) => (
            <>
              <span className={isCode ? 'mono cut' : 'cut'}>
                <Marked label={label} typed={text.replace(/^payload\./, '')} />
              </span>
              <em>{hint}</em>
            </>
          )}
        </SuggestList>
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

/** The label, with the part that is typed already in colour. */
function Marked({ label, typed }: { label: string; typed: string }) {
  const at = typed === '' ? -1 : label.toLowerCase().indexOf(typed.toLowerCase());
  if (at < 0) return label;
  return (
    <>
      {label.slice(0, at)}
      <mark>{label.slice(at, at + typed.length)}</mark>
      {label.slice(at + typed.length)}
    </>
  );
}
