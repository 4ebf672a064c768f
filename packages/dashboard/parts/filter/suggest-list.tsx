import './suggest.css';
import { Fragment, type ReactNode } from 'preact/compat';
import type { Combobox } from './combobox.ts';

/** The options of a combobox, with a heading above each group. */
export function SuggestList<Item extends { id: string; group: string }>({
  items,
  combobox: { listProps, optionProps, index: marked },
  children,
}: {
  items: readonly Item[];
  combobox: Combobox;
  children: (item: Item, isMarked: boolean) => ReactNode;
}) {
  return (
    <ul {...listProps}>
      {items.map((item, index) => (
        <Fragment key={item.id}>
          {item.group !== items[index - 1]?.group && (
            <li className="group" role="presentation">
              {item.group}
            </li>
          )}
          <li {...optionProps(index)}>{children(item, index === marked)}</li>
        </Fragment>
      ))}
    </ul>
  );
}
