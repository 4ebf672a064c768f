/**
 * How many more of a shared resource a holder may take, so that it never has more than `appetite` times what is then
 * left free. (Switches divide the memory for packets this way: "dynamic thresholds", Choudhury and Hahne 1998.) A single
 * holder may use `appetite / (1 + appetite)` of the whole, and k greedy ones end up with the same number each. What is free
 * shrinks by the factor `1 / (1 + appetite)` with each holder who takes all that it gets, so a small appetite leaves
 * something to many of them.
 * @returns not rounded; negative for a holder who has more than that already
 */
export function allowance(free: number, used: number, appetite: number): number {
  return (appetite * free - used) / (1 + appetite);
}
