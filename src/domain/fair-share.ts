/**
 * Returns how many more units of a shared resource a holder may take, so that it never has more than `appetite` times
 * the units that are then left free. (Network switches divide packet memory this way: "dynamic thresholds", Choudhury
 * and Hahne 1998.) A single holder may use `appetite / (1 + appetite)` of the whole, and k greedy holders end up with
 * the same number each. Each holder that takes its full allowance multiplies the free units by `1 / (1 + appetite)`, so
 * a small appetite leaves something for many holders.
 * @returns not rounded; negative for a holder that already has more
 */
export function allowance(free: number, used: number, appetite: number): number {
  return (appetite * free - used) / (1 + appetite);
}
