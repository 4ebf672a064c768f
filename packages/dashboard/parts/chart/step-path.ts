/** The outline of bars, as the path of an SVG. It is broken where a value is missing. */
export function stepPath(values: readonly (number | null)[], width: number, y: (value: number) => number): string {
  return values
    .map((value, n) =>
      value === null
        ? ''
        : `${values[n - 1] == null ? `M${n * width} ` : 'V'}${y(value).toFixed(1)}h${width.toFixed(2)}`,
    )
    .join('');
}
