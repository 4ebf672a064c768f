import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/client.ts';
import type { Database } from './database.ts';

export type { PrismaClient } from '../generated/client.ts';

/**
 * Creates a Prisma client on the process's pool. It is for rare writes, not for the delivery path.
 * @param transactionOptions longest wait for the start and the end of a transaction, in ms; if not given, Prisma's 2 s
 * and 5 s
 */
export function createPrisma(
  db: Database,
  transactionOptions: { maxWait?: number; timeout?: number } = {},
): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(db.pool, { disposeExternalPool: false }), transactionOptions });
}

/**
 * Prisma clients for reads of an account: like `Database.reading`,
 * they use the connections for reading in the account's turn.
 */
export interface ReadingPrisma {
  of(accountId: string): PrismaClient;
  close(): Promise<void>;
}

/** An operation of Prisma; `query` sends it. */
interface Operation {
  model: string | undefined;
  operation: string;
  args: unknown;
  query(args: unknown): Promise<unknown>;
}

const MAX_ACCOUNTS = 1000;

export function createReadingPrisma(db: Database): ReadingPrisma {
  const prisma = new PrismaClient({ adapter: new PrismaPg(db.readingPool, { disposeExternalPool: false }) });
  return clientsByAccount(prisma, (accountId, { args, query }) => db.readingTurns.run(accountId, () => query(args)));
}

/** @param run runs an operation of an account */
export function clientsByAccount(
  prisma: PrismaClient,
  run: (accountId: string, operation: Operation) => Promise<unknown>,
): ReadingPrisma {
  const clients = new Map<string, PrismaClient>();
  return {
    of(accountId) {
      const present = clients.get(accountId);
      if (present !== undefined) return present;
      const client = prisma.$extends({
        query: { $allOperations: (operation) => run(accountId, operation as Operation) },
        // The cast is safe: the extension changes neither the operations nor their results.
      }) as unknown as PrismaClient;
      if (clients.size >= MAX_ACCOUNTS) clients.clear();
      clients.set(accountId, client);
      return client;
    },
    close: () => prisma.$disconnect(),
  };
}
