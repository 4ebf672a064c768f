const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Reads texts such as `90s`, `2h` and `1h30m`. @returns milliseconds; null for any other text */
export function readDuration(text: string): number | null {
  if (!/^(?:\d+(?:\.\d+)?(?:ms|[smhd]))+$/.test(text)) return null;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g);
  return [...parts].reduce((ms, [, count, unit]) => ms + Number(count) * (UNITS[unit ?? ''] ?? 0), 0);
}
