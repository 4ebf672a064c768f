import type { PrismaClient, ReadingPrisma } from '../db/prisma.ts';
import type { Plan, PlanTable } from '../domain/plan.ts';
import type { Dashboard } from '../services/dashboard.ts';
import type { Account, Services } from '../services/index.ts';
import type { Live } from '../services/live.ts';
import type { Operations } from '../services/operations.ts';
import type { StoredText } from '../services/stored-text.ts';
import { createRequestLoaders, type RequestLoaders } from './loaders.ts';

/** What the GraphQL shell is given; the same for every request. */
export interface GraphQLServices {
  services: Services;
  dashboard: Dashboard;
  operations: Operations;
  live: Live;
  readingPrisma: ReadingPrisma;
  stored: StoredText;
  plans: PlanTable;
}

/** What resolvers get: the services, and whose request it is. */
export interface GraphQLContext extends GraphQLServices {
  account: Account;
  /** For reading what is the account's, in its turn. */
  prisma: PrismaClient;
  plan: Plan;
  loaders: RequestLoaders;
  /** Aborted when the client has gone, or the service stops. */
  signal: AbortSignal;
}

export function createContext(shared: GraphQLServices, account: Account, signal: AbortSignal): GraphQLContext {
  const plan = shared.plans[account.plan];
  if (plan === undefined) throw new Error(`account ${account.id} has an unknown plan`);
  const prisma = shared.readingPrisma.of(account.id);
  return { ...shared, account, prisma, plan, signal, loaders: createRequestLoaders({ ...shared, prisma }, account) };
}
