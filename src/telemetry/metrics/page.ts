import type { PoolUse } from '../../db/connection/connections.ts';
import type { Counts } from '../counts/counts.ts';
import type { Format } from './accept.ts';
import { AccountSeries } from './account-series.ts';
import type { DatabaseFacts } from './database-facts.ts';
import { databaseMetrics } from './database-metrics.ts';
import { countMetrics, type ProcessFacts, stateMetrics } from './process-metrics.ts';
import { QueueSeries } from './queue-series.ts';
import { createRenderer, type Definition, type Renderer } from './registry.ts';

/** Two requests within this time get the same page. Anyone who reaches the port may request it very often. */
const CACHE_MS = 1000;

interface Page {
  contentType: string;
  text: string;
}

interface Cached {
  page: Promise<Page>;
  madeAt: number;
}

interface PagesOptions {
  counts: Counts;
  process: ProcessFacts;
  facts: DatabaseFacts;
  poolUse: () => readonly PoolUse[];
  /** Accounts with series of their own. */
  maxAccounts: number;
}

/** Makes the pages of metrics of a process. Until the first request it costs nothing but the counts themselves. */
export class Pages {
  readonly #facts: DatabaseFacts;
  readonly #series: QueueSeries;
  readonly #accounts: AccountSeries;
  readonly #definitions: readonly Definition[];
  readonly #renderers = new Map<Format, Renderer>();
  readonly #cached = new Map<Format, Cached>();
  #isUp = false;

  constructor({ counts, process, facts, poolUse, maxAccounts }: PagesOptions) {
    this.#facts = facts;
    this.#series = new QueueSeries(counts.queues);
    this.#accounts = new AccountSeries(counts.accounts, maxAccounts);
    this.#definitions = [
      ...countMetrics(counts, this.#series, this.#accounts),
      ...stateMetrics(process, poolUse),
      ...databaseMetrics(
        () => this.#isUp,
        () => facts.facts,
        () => facts.server,
      ),
    ];
  }

  get(format: Format): Promise<Page> {
    const now = performance.now();
    const cached = this.#cached.get(format);
    if (cached !== undefined && now - cached.madeAt < CACHE_MS) return cached.page;
    const page = this.#make(format);
    this.#cached.set(format, { page, madeAt: now });
    return page;
  }

  async #make(format: Format): Promise<Page> {
    const named = await this.#facts.refresh();
    this.#isUp = named !== null;
    this.#series.update(named);
    this.#accounts.update();
    let renderer = this.#renderers.get(format);
    if (renderer === undefined) {
      renderer = createRenderer(format, this.#definitions);
      this.#renderers.set(format, renderer);
    }
    return { contentType: renderer.contentType, text: await renderer.render() };
  }
}
