/** Returns the number of letters that are inserted, left out, replaced, or swapped with their neighbour. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)];
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    rows[i] = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const exchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(i - 2, j - 2) + 1 : replaced;
      rows[i]?.push(Math.min(replaced, exchanged, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}

/** Whether the names differ by one mistake, or by two in a long name. Two mistakes would match too many short names. */
export function isMisspelt(name: string, known: string): boolean {
  const most = known.length < 8 ? 1 : 2;
  // Without this, a text of any length would be compared with each of a thousand names, letter by letter.
  return Math.abs(name.length - known.length) <= most && distance(name, known) <= most;
}

/** Returns the known name that differs least by mistakes of spelling; null if none is near. */
export function meantBy(name: string, known: readonly string[]): string | null {
  const near = known.filter((one) => isMisspelt(name.toLowerCase(), one.toLowerCase()));
  return near.sort((a, b) => distance(name, a) - distance(name, b))[0] ?? null;
}
