import { type AccountCounts, NO_ACCOUNT, OTHER_ACCOUNTS } from '../counts/account-counts.ts';
import { Tally } from '../counts/tally.ts';
import type { Sample } from './registry.ts';

/** The share of an account's activity that is left at the next page. */
const FADING = 0.5;
/** An account takes the series of another one if it is this much busier, so that equals do not take turns. */
const BUSIER = 2;

interface Series {
  counts: Tally;
  /** Requests of late. */
  activity: number;
}

/**
 * Requests by account: the busiest accounts have series of their own, and the others are counted as `other`. An account
 * that becomes busy takes the series of the one that is least so. No number goes down: what was counted as `other`
 * stays there, and the series of an account that has lost them disappear.
 */
export class AccountSeries {
  readonly #counts: AccountCounts;
  readonly #limit: number;
  readonly #own = new Map<string, Series>();
  readonly #others = new Tally();
  readonly #shared = new Map([
    [NO_ACCOUNT, new Tally()],
    [OTHER_ACCOUNTS, this.#others],
  ]);

  /** @param limit accounts with series of their own */
  constructor(counts: AccountCounts, limit: number) {
    this.#counts = counts;
    this.#limit = limit;
  }

  /** Adds what was counted since the last page. */
  update(): void {
    for (const series of this.#own.values()) series.activity *= FADING;
    const counted = this.#counts.take();
    for (const [account, series] of this.#own) {
      const counts = counted.get(account);
      if (counts === undefined) continue;
      addTo(series, counts);
      counted.delete(account);
    }
    const others = [...counted].sort(([, a], [, b]) => totalOf(b) - totalOf(a));
    for (const [account, counts] of others) {
      const shared = this.#shared.get(account);
      const series = shared === undefined ? this.#newSeries(account, totalOf(counts)) : null;
      if (series !== null) addTo(series, counts);
      else (shared ?? this.#others).addAll(counts);
    }
  }

  *read(): Generator<Sample> {
    for (const [account, counts] of this.#shared) yield* samplesOf(account, counts);
    for (const [account, { counts }] of this.#own) yield* samplesOf(account, counts);
  }

  /** @returns null if the accounts with series are not less busy */
  #newSeries(account: string, requests: number): Series | null {
    if (this.#own.size >= this.#limit) {
      const [least] = [...this.#own].sort(([, a], [, b]) => a.activity - b.activity);
      if (least === undefined || requests < BUSIER * least[1].activity) return null;
      this.#own.delete(least[0]);
    }
    const series = { counts: new Tally(), activity: 0 };
    this.#own.set(account, series);
    return series;
  }
}

function addTo(series: Series, counts: Tally): void {
  series.counts.addAll(counts);
  series.activity += totalOf(counts);
}

function totalOf(counts: Tally): number {
  return counts.entries().reduce((sum, { count }) => sum + count, 0);
}

function* samplesOf(account: string, counts: Tally): Generator<Sample> {
  for (const { values, count } of counts.entries()) yield [[account, ...values], count];
}
