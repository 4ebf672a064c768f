import { PrismaPg } from '@prisma/adapter-pg';
import type { Database } from './database.ts';
import { PrismaClient } from './generated/client.ts';

export type { PrismaClient } from './generated/client.ts';

/** Prisma on the pool of the process: for rare writes and dashboards, not for the delivery path (DESIGN 5). */
export function createPrisma(db: Database): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(db.pool, { disposeExternalPool: false }) });
}
