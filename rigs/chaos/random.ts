/** Makes equal choices for equal seeds. The timing of real processes still differs. */
export interface Random {
  readonly seed: number;
  /** In [0, 1). */
  next(): number;
  between(low: number, high: number): number;
  pick<T>(items: readonly T[]): T;
}

/** Mulberry32: small, and good enough to choose victims. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    seed,
    next,
    between: (low, high) => low + next() * (high - low),
    pick: (items) => {
      if (items.length === 0) throw new Error('nothing to pick from');
      return items[Math.floor(next() * items.length)] as (typeof items)[number];
    },
  };
}

/** A number in [0, 1) that depends on the text only, so that the receiver's answers are the same in each run. */
export function chanceOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return createRandom(hash).next();
}
