import type { LogLine } from './process.ts';

const MOST = 50;
const lines: LogLine[] = [];

/** Keeps the last errors that services inside this process have logged. */
export function keepErrorLine(line: LogLine): void {
  if (line.level !== 'error') return;
  lines.push(line);
  if (lines.length > MOST) lines.shift();
}

/** Returns those of these requests, for the message of a test: an answer itself has nothing but `internal error`. */
export function errorLinesOf(requestIds: readonly (string | undefined)[]): LogLine[] {
  return lines.filter(({ requestId }) => requestIds.includes(String(requestId)));
}
