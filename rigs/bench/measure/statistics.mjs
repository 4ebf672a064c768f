export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Median and range. */
export function spread(values) {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length === 0) return null;
  return { median: median(present), min: Math.min(...present), max: Math.max(...present) };
}

export function percentiles(values, shares = { p50: 0.5, p99: 0.99 }) {
  const sorted = Float64Array.from(values).sort();
  const at = (share) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]);
  return Object.fromEntries(
    Object.entries(shares).map(([name, share]) => [name, sorted.length === 0 ? null : at(share)]),
  );
}

export function round(value, digits = 2) {
  return Number(value.toFixed(digits));
}
