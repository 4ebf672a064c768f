import { z } from 'zod';

/** Permissions of a start, and when it is reachable. */
export interface StartingConfig {
  /** Whether `serve` may change the schema of the database. Otherwise it needs one that `migrate` has brought up to date. */
  readonly autoMigrate: boolean;
  /** When the port of the API is opened: at once, so that requests wait for the start, or when they can be served. */
  readonly listenWhen: 'starting' | 'ready';
}

export const STARTING_VARIABLES = {
  AUTO_MIGRATE: z.enum(['0', '1', 'false', 'true']).default('1'),
  LISTEN_WHEN: z.enum(['starting', 'ready']).default('starting'),
};

interface Parsed {
  AUTO_MIGRATE: string;
  LISTEN_WHEN: StartingConfig['listenWhen'];
}

export function startingConfig({ AUTO_MIGRATE, LISTEN_WHEN: listenWhen }: Parsed): StartingConfig {
  return { autoMigrate: AUTO_MIGRATE === '1' || AUTO_MIGRATE === 'true', listenWhen };
}
