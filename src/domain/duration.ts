const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads texts such as `90s`, `2h` and `1h30m`. @returns milliseconds; null for any other text */
export function readDuration(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return null;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g);
  return [...parts].reduce((ms, [, count, unit]) => ms + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}

const LARGE = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
] as const;

/**
 * Returns a number of seconds as `119 s`, `2 min`, `47 h` or `3 d`. The unit is the largest of which there are at least
 * two, otherwise the second. The number is rounded down, so the text of a growing age changes seldom. Never negative.
 */
export function durationText(seconds: number): string {
  const [size, unit] = LARGE.find(([least]) => seconds >= 2 * least) ?? [1, 's'];
  return `${Math.max(0, Math.floor(seconds / size))} ${unit}`;
}
