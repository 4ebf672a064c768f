import { printable, UNSEEN } from '../../domain/text.ts';

export { printable };

/** Text for people in a terminal. */

/** Longest text of a cell; the rest is cut off. `--json` has all of it. */
const MAX_CELL = 60;

/** Returns a value as JSON. Characters that a terminal could take for commands are escaped, which changes no value. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value).replace(UNSEEN, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Returns lines of text in which nothing can command a terminal. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

type Cell = string | number | boolean | Date | null | undefined;

export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => Cell;
  /** Numbers are aligned at their end. */
  readonly isNumber?: boolean;
}

/** Returns rows as a table, with a line of titles; a text in place of an empty table. */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], ifEmpty: string): string {
  if (rows.length === 0) return ifEmpty;
  const lines = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ of }) => cut(shown(of(row)))))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map((line) =>
      line
        .map((text, at) =>
          columns[at]?.isNumber === true ? text.padStart(widths[at] ?? 0) : text.padEnd(widths[at] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Returns facts one below the other, without those that are undefined. */
export function facts(entries: readonly (readonly [name: string, value: Cell])[]): string {
  const present = entries.filter(([, value]) => value !== undefined);
  const width = Math.max(...present.map(([name]) => name.length));
  return present.map(([name, value]) => `${name.padEnd(width)}  ${shown(value)}`).join('\n');
}

function shown(value: Cell): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return time(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return printable(String(value));
}

/** A time in UTC, to the millisecond. */
export function time(at: Date): string {
  return at.toISOString().replace('T', ' ');
}

function cut(text: string): string {
  return text.length <= MAX_CELL ? text : `${text.slice(0, MAX_CELL - 1)}…`;
}
