import type { Database } from '../db/connection/database.ts';
import type { PrismaClient, ReadingPrisma } from '../db/connection/prisma.ts';
import type { WakeReason } from '../db/delivery/wake-ups.ts';
import type { Account } from '../domain/account.ts';
import { JobferryError } from '../domain/errors.ts';
import type { Periods } from '../domain/periods.ts';
import { type Plan, type PlanTable, strictestPlan } from '../domain/plan.ts';
import type { QueueSettings } from '../domain/queue.ts';
import type { ChangeFeed } from '../live/live.ts';

type TemplateTable = Readonly<Record<string, Partial<QueueSettings>>>;

/** What this process shows of itself. */
interface ServerIdentity {
  /** Of Jobferry. */
  version: string;
  /** As NODE_ENV says. */
  environment: string;
  webhookTimeoutMs: number;
}

/** What every use case gets. */
export interface Context {
  db: Database;
  prisma: PrismaClient;
  readingPrisma: ReadingPrisma;
  plans: PlanTable;
  /** Values that a template name prefills at create (D28). */
  templates: TemplateTable;
  periods: Periods;
  server: ServerIdentity;
  /**
   * Tells workers that a queue may have work: that of this process, or else those of others. The durable
   * wake-up is part of the commit, and comes some seconds later (docs/decisions/0008).
   */
  wake(queueId: string, reason: WakeReason): void;
  /** Tells live subscribers, in whichever process, what changed. */
  changes: ChangeFeed;
}

/** Of an account; one that PLANS does not name is as strict as the strictest that it does (`warnOfUnknownPlans`). */
export function planOf({ plans }: Pick<Context, 'plans'>, { plan }: Pick<Account, 'plan'>): Plan {
  return Object.hasOwn(plans, plan) ? (plans[plan] as Plan) : strictestPlan(plans);
}

/** The refusal of the spec's 402; never for plans without a limit. */
export function limitReached(plan: Plan): JobferryError {
  return new JobferryError(
    'limit_reached',
    `your plan's ${plan.monthlyAttempts} delivery attempts of this month are used up; upgrade, or go on next month`,
  );
}
