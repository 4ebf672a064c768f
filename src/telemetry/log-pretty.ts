/** The members that a line has by itself, and not from its fields. */
interface Line {
  level: string;
  time: string;
  msg?: string;
  [field: string]: unknown;
}

/** A logged error, as `describeError` of `log.ts` writes it. */
interface LoggedError {
  message: string;
  stack?: string;
  cause?: unknown;
}

const COLOURS: Readonly<Record<string, number>> = { trace: 90, debug: 90, info: 32, warn: 33, error: 31, fatal: 31 };
const DIM = 2;

/** Texts that need no quotes: without spaces, quotes, and characters that mean something to a terminal. */
const PLAIN = /^[\w./:@+,-]+$/;
/**
 * Control characters, and those that reorder text. They may come from other programs,
 * and must not control the terminal.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Formats a log line for people: time of day, level, message, fields, and the error's stack below them.
 * @param line one line of JSON, as pino writes it
 */
export function pretty(line: string, { colours }: { colours: boolean }): string {
  const { level, time, msg = '', pid: _, ...fields } = JSON.parse(line) as Line;
  const error = isError(fields.err) ? fields.err : null;
  if (error !== null) delete fields.err;
  const paint = (code: number | undefined, text: string) =>
    colours && code !== undefined ? `\u001b[${code}m${text}\u001b[0m` : text;
  const shown = Object.entries(fields).map(([name, value]) => ` ${paint(DIM, `${safe(name)}=`)}${textOf(value)}`);
  const head = `${paint(DIM, timeOfDay(time))} ${paint(COLOURS[level], level.toUpperCase().padEnd(5))} ${safe(msg)}`;
  return `${head}${shown.join('')}\n${error === null ? '' : linesOf(error).join('')}`;
}

function isError(value: unknown): value is LoggedError {
  return typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';
}

/** In the time zone of the terminal's user. */
function timeOfDay(time: string): string {
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}

function textOf(value: unknown): string {
  return typeof value === 'string' && PLAIN.test(value) ? value : safe(JSON.stringify(value));
}

function linesOf(error: LoggedError): string[] {
  // The first lines of a stack are the name and the message.
  const text = error.stack ?? error.message;
  return [
    ...text.split('\n').map((line) => `    ${safe(line.trimEnd())}\n`),
    ...(isError(error.cause) ? linesOf(error.cause) : []),
  ];
}

function safe(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
