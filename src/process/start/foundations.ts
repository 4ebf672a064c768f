import type { QueueDeclaration } from '../../../packages/client/src/verbs/queues.ts';
import type { TrustedProxies } from '../../http/index.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Config } from '../config.ts';
import type { OpenDatabase } from '../open-database.ts';

/** The objects that every part of a process is made of. */
export interface Foundations {
  config: Config;
  log: Logger;
  database: OpenDatabase;
  started: StartedParts;
  trustedProxies: TrustedProxies;
  /** The queues of QUEUES_FILE. */
  declared: readonly QueueDeclaration[];
}

/** The started parts, and how to stop them. */
export class StartedParts {
  readonly #stops: (() => Promise<unknown>)[] = [];

  /** Returns a function that stops the part; further calls of it do nothing. */
  add(stop: () => Promise<unknown>): () => Promise<unknown> {
    let stopping: Promise<unknown> | null = null;
    const once = () => {
      stopping ??= stop();
      return stopping;
    };
    this.#stops.push(once);
    return once;
  }

  /**
   * Stops all parts, the latest first. If one fails, the others are stopped all the same.
   * @throws the first error
   */
  async stop(): Promise<void> {
    const failures: unknown[] = [];
    for (const stop of this.#stops.toReversed()) await stop().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}
