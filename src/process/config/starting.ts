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
  /** Port on which a worker takes jobs from API processes, 0 for any free one; null if nothing is handed over. */
  readonly workerLinkPort: number | null;
  /** File of the queues that the first account is given at the start; null for none. */
  readonly queuesFile: string | null;
}

export const STARTING_VARIABLES = {
  AUTO_MIGRATE: z.enum(['0', '1', 'false', 'true']).default('1'),
  LISTEN_WHEN: z.enum(['starting', 'ready']).default('starting'),
  QUEUES_FILE: z.string().min(1).optional(),
  WORKER_LINK_PORT: z
    .string()
    .refine((text) => text === 'off' || isPort(text), 'must be off, or a port from 0 to 65535')
    .default('0'),
};

const isPort = (text: string) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535;

interface Parsed {
  AUTO_MIGRATE: string;
  LISTEN_WHEN: StartingConfig['listenWhen'];
  QUEUES_FILE?: string | undefined;
  WORKER_LINK_PORT: string;
}

export function startingConfig(parsed: Parsed): StartingConfig {
  const { AUTO_MIGRATE, LISTEN_WHEN: listenWhen, QUEUES_FILE, WORKER_LINK_PORT: port } = parsed;
  const autoMigrate = AUTO_MIGRATE === '1' || AUTO_MIGRATE === 'true';
  const workerLinkPort = port === 'off' ? null : Number(port);
  return { autoMigrate, listenWhen, queuesFile: QUEUES_FILE ?? null, workerLinkPort };
}
