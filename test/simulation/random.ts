/** A small generator with a seed (sfc32): the same seed gives the same run, on every machine. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: number) {
    this.#a = seed | 0;
    this.#b = 0x9e3779b9;
    this.#c = (seed / 2 ** 32) | 0;
    // Neighbouring seeds must have nothing in common.
    for (let i = 0; i < 12; i += 1) this.next();
  }

  /** Uniform in [0, 1). */
  next(): number {
    const t = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + t;
    return (t >>> 0) / 2 ** 32;
  }

  /** An integer from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }

  /** Mostly small, sometimes up to `max`. */
  skewed(max: number): number {
    const r = this.next();
    return r * r * r * max;
  }
}
