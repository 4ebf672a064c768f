import { z } from 'zod';

/** What a start may do, and when it is reachable. */
export interface StartingConfig {
  /** Whether `serve` may change the schema of the database. Otherwise it needs one that `migrate` has brought up to date. */
  readonly autoMigrate: boolean;
}

export const STARTING_VARIABLES = {
  AUTO_MIGRATE: z.enum(['0', '1', 'false', 'true']).default('1'),
};

/** @param parsed the values of `STARTING_VARIABLES` */
export function startingConfig({ AUTO_MIGRATE }: { AUTO_MIGRATE: string }): StartingConfig {
  return { autoMigrate: AUTO_MIGRATE === '1' || AUTO_MIGRATE === 'true' };
}
