/** The difference of two texts, line by line. */

export interface DiffLine {
  change: 'same' | 'removed' | 'added';
  text: string;
  /** Number in the first and in the second text; null where it is not in that one. */
  from: number | null;
  to: number | null;
  /** The part that differs from the line in its place, if there is one. */
  part?: readonly [start: number, end: number];
}

export interface Diff {
  lines: DiffLine[];
  removed: number;
  added: number;
  /**
   * False if the texts are too long and too different for lines to be matched: all lines between the equal ends differ.
   */
  isMatched: boolean;
}

/** Most comparisons of two lines: two thousand lines with as many others. */
const MAX_COMPARED = 4_000_000;

/** @param keyOf equal for lines that are taken to be the same */
export function diffLines(from: readonly string[], to: readonly string[], keyOf = (line: string) => line): Diff {
  const [a, b] = [from.map(keyOf), to.map(keyOf)];
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [lastFrom, lastTo] = [a.length - end, b.length - end];
  const isMatched = (lastFrom - start) * (lastTo - start) <= MAX_COMPARED;

  const lines: DiffLine[] = [];
  const same = (i: number, j: number) => lines.push({ change: 'same', text: from[i] ?? '', from: i + 1, to: j + 1 });
  const removed = (i: number) => lines.push({ change: 'removed', text: from[i] ?? '', from: i + 1, to: null });
  const added = (j: number) => lines.push({ change: 'added', text: to[j] ?? '', from: null, to: j + 1 });

  for (let n = 0; n < start; n += 1) same(n, n);
  const isCommon = isMatched ? commonOf(a.slice(start, lastFrom), b.slice(start, lastTo)) : null;
  let [i, j] = [start, start];
  while (i < lastFrom || j < lastTo) {
    const step =
      i >= lastFrom ? 'added' : j >= lastTo || isCommon === null ? 'removed' : isCommon(i - start, j - start);
    if (step === 'same') same(i, j);
    else if (step === 'removed') removed(i);
    else added(j);
    if (step !== 'added') i += 1;
    if (step !== 'removed') j += 1;
  }
  for (let n = end; n > 0; n -= 1) same(a.length - n, b.length - n);
  markParts(lines);
  const count = (change: DiffLine['change']) => lines.filter((line) => line.change === change).length;
  return { lines, removed: count('removed'), added: count('added'), isMatched };
}

/** The longest common subsequence: what the next step is, with `i` lines of the one and `j` of the other behind. */
function commonOf(a: readonly string[], b: readonly string[]) {
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  return (i: number, j: number): DiffLine['change'] =>
    a[i] === b[j] ? 'same' : at(i + 1, j) >= at(i, j + 1) ? 'removed' : 'added';
}

/** Where as many lines are added as removed, each pair has the part in which it differs. */
function markParts(lines: readonly DiffLine[]): void {
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, 'removed');
    const added = runOf(lines, at + removed, 'added');
    if (removed > 0 && removed === added) {
      for (let n = 0; n < removed; n += 1) markPair(lines[at + n] as DiffLine, lines[at + removed + n] as DiffLine);
    }
    at += Math.max(1, removed + added);
  }
}

function runOf(lines: readonly DiffLine[], from: number, change: DiffLine['change']): number {
  let at = from;
  while (lines[at]?.change === change) at += 1;
  return at - from;
}

function markPair(one: DiffLine, other: DiffLine): void {
  const shorter = Math.min(one.text.length, other.text.length);
  let start = 0;
  while (start < shorter && one.text[start] === other.text[start]) start += 1;
  let end = 0;
  while (end < shorter - start && one.text.at(-1 - end) === other.text.at(-1 - end)) end += 1;
  // Two units that are one character stay together.
  if (/[\uD800-\uDBFF]/.test(one.text.charAt(start - 1))) start -= 1;
  if (/[\uDC00-\uDFFF]/.test(one.text.charAt(one.text.length - end))) end -= 1;
  // Lines without a common part differ as a whole.
  if (start === 0 && end === 0) return;
  one.part = [start, one.text.length - end];
  other.part = [start, other.text.length - end];
}

/** Lines around a change; equal ones further away are folded into their number. */
const AROUND = 3;

export type Shown = DiffLine | { folded: number; from: number };

export function foldEqual(lines: readonly DiffLine[]): Shown[] {
  const isNear = new Uint8Array(lines.length);
  lines.forEach(({ change }, at) => {
    if (change !== 'same') isNear.fill(1, Math.max(0, at - AROUND), at + AROUND + 1);
  });
  const shown: Shown[] = [];
  lines.forEach((line, at) => {
    const last = shown.at(-1);
    if (isNear[at] === 1) shown.push(line);
    else if (last !== undefined && 'folded' in last) last.folded += 1;
    else shown.push({ folded: 1, from: line.from ?? 0 });
  });
  return shown;
}
