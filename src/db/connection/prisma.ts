import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from '../generated/client.ts';
import type { Database } from './database.ts';

export type { PrismaClient } from '../generated/client.ts';

/** Prisma on the pool of the process: for rare writes, not for the delivery path (docs/rules.md, "Facts about the libraries"). */
export function createPrisma(db: Database): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(db.pool, { disposeExternalPool: false }) });
}

/** Prisma as `Database.reading` is: for what an account looks at, over the connections for reading and in its turn. */
export interface ReadingPrisma {
  of(accountId: string): PrismaClient;
  close(): Promise<void>;
}

const MAX_ACCOUNTS = 1000;

export function createReadingPrisma(db: Database): ReadingPrisma {
  const prisma = new PrismaClient({ adapter: new PrismaPg(db.readingPool, { disposeExternalPool: false }) });
  const clients = new Map<string, PrismaClient>();
  return {
    of(accountId) {
      const present = clients.get(accountId);
      if (present !== undefined) return present;
      const client = prisma.$extends({
        query: { $allOperations: ({ args, query }) => db.readingTurns.run(accountId, () => query(args)) },
        // It has all that the other has, and says no more about what an operation answers.
      }) as unknown as PrismaClient;
      if (clients.size >= MAX_ACCOUNTS) clients.clear();
      clients.set(accountId, client);
      return client;
    },
    close: () => prisma.$disconnect(),
  };
}
