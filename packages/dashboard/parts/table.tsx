import type { AriaAttributes, ReactNode } from 'preact/compat';

/** The head of a column: its words, perhaps with classes and the order of the rows. */
export interface Column {
  label: ReactNode;
  className?: string | undefined;
  title?: string;
  sort?: AriaAttributes['aria-sort'] | undefined;
}

/** A head that only screen readers have. */
export const unseen = (label: string, className = 'n'): Column => ({
  label: <span className="sr">{label}</span>,
  className,
});

interface TableProps {
  className?: string;
  /** For screen readers. A table below a headline has that one's id instead. */
  caption?: ReactNode;
  labelledBy?: string;
  /** Each is a label, or a label with classes. */
  columns?: readonly (string | readonly [label: ReactNode, className: string] | Column)[];
  /** The rows. */
  children: ReactNode;
}

export function Table({ className = '', caption, labelledBy, columns = [], children }: TableProps) {
  return (
    <table className={`table ${className}`.trim()} aria-labelledby={labelledBy}>
      {caption !== undefined && <caption className="sr">{caption}</caption>}
      {columns.length > 0 && (
        <thead>
          <tr>
            {columns.map((column, index) => {
              const { label, className: classes, title, sort } = columnOf(column);
              return (
                <th key={index} scope="col" className={classes} title={title} aria-sort={sort}>
                  {label}
                </th>
              );
            })}
          </tr>
        </thead>
      )}
      <tbody>{children}</tbody>
    </table>
  );
}

function columnOf(column: NonNullable<TableProps['columns']>[number]): Column {
  if (typeof column === 'string') return { label: column };
  if ('label' in column) return column;
  return { label: column[0], className: column[1] };
}
