/** Rows as text: CSV by RFC 4180, or NDJSON. The first line says what the file is, the last one whether it is whole. */

export type Format = 'csv' | 'ndjson';

/** A JSON text is kept as it is: a parser would change large numbers. */
export type Cell = string | number | boolean | null | { json: string };

interface Writer {
  /** The first line, and for CSV the names of the columns. */
  head(facts: Readonly<Record<string, Cell>>): string;
  row(cells: readonly Cell[]): string;
  end(facts: Readonly<Record<string, Cell>>): string;
}

export function writerOf(format: Format, columns: readonly string[]): Writer {
  if (format === 'csv') {
    return {
      head: (facts) => BYTE_ORDER_MARK + noteOf(facts) + csvLine(columns),
      row: csvLine,
      end: noteOf,
    };
  }
  return {
    head: (facts) => ndjsonLine(Object.entries(facts)),
    row: (cells) => ndjsonLine(columns.map((name, at) => [name, cells[at] ?? null])),
    end: (facts) => ndjsonLine(Object.entries(facts)),
  };
}

/** Without it Excel takes the text for that of another alphabet. It stands before the comment, so no name has it. */
const BYTE_ORDER_MARK = '\ufeff';

/** A line of one cell, which programs skip as a comment and a spreadsheet shows. */
function noteOf(facts: Readonly<Record<string, Cell>>): string {
  const texts = Object.entries(facts).flatMap(([name, cell]) => {
    return cell === null ? [] : [`${name}: ${typeof cell === 'object' ? cell.json : cell}`];
  });
  return csvLine([`# ${texts.join('; ')}`]);
}

function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Spreadsheets take a text that begins so for a formula, and would run it.
 * They show an apostrophe before it as nothing.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
/**
 * Where a semicolon or a tab separates cells, as in Excel in German, a comma and quotes in the middle of a cell do not:
 * a cell, or a line, can begin within a text of ours. There a pair of quotes is an empty text, and the formula follows
 * it.
 */
const FORMULA_WITHIN = /([;\t\r\n])(?="*[=+\-@＝＋－＠])/g;

/** No value is an empty cell; an empty text has quotes. */
function csvCell(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number' || typeof cell === 'boolean') return String(cell);
  const text = (typeof cell === 'string' ? cell : cell.json).replaceAll('\0', '\u2400');
  const harmless = (FORMULA.test(text) ? `'${text}` : text).replaceAll(FORMULA_WITHIN, "$1'");
  return harmless === '' || /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

function ndjsonLine(members: readonly (readonly [name: string, cell: Cell])[]): string {
  return `{${members.map(([name, cell]) => `${JSON.stringify(name)}:${jsonOf(cell)}`).join(',')}}\n`;
}

function jsonOf(cell: Cell): string {
  if (cell === null || typeof cell !== 'object') return JSON.stringify(cell);
  // In JSON text, a line can only end between two tokens.
  return cell.json.replaceAll(/[\r\n]+/g, ' ');
}
