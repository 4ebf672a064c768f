import { z } from 'zod';

/** Permissions of a start, and when it is reachable. */
export interface StartingConfig {
  /**
   * Whether `serve` may change the schema of the database. Otherwise it needs one that `migrate` has brought up to
   * date.
   */
  readonly autoMigrate: boolean;
  /** When the port of the API is opened: at once, so that requests wait for the start, or when they can be served. */
  readonly listenWhen: 'starting' | 'ready';
  /** File of the queues that the first account is given at the start; null for none. */
  readonly queuesFile: string | null;
}

export const STARTING_VARIABLES = {
  AUTO_MIGRATE: z.enum(['0', '1', 'false', 'true']).default('1'),
  LISTEN_WHEN: z.enum(['starting', 'ready']).default('starting'),
  QUEUES_FILE: z.string().min(1).optional(),
};

interface Parsed {
  AUTO_MIGRATE: string;
  LISTEN_WHEN: StartingConfig['listenWhen'];
  QUEUES_FILE?: string | undefined;
}

export function startingConfig({ AUTO_MIGRATE, LISTEN_WHEN: listenWhen, QUEUES_FILE }: Parsed): StartingConfig {
  const autoMigrate = AUTO_MIGRATE === '1' || AUTO_MIGRATE === 'true';
  return { autoMigrate, listenWhen, queuesFile: QUEUES_FILE ?? null };
}
