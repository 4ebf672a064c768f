import { accountsByPlan } from '../../db/accounts.ts';
import type { Database, DatabaseLog } from '../../db/connection/database.ts';
import type { PlanTable } from '../../domain/plan.ts';

/** Logs a warning at the start for accounts whose plan has no entry in PLANS: they get the strictest limits. */
export async function warnOfUnknownPlans(db: Database, plans: PlanTable, log: DatabaseLog): Promise<void> {
  for (const { plan, accounts } of await accountsByPlan(db)) {
    if (Object.hasOwn(plans, plan)) continue;
    log.warn({ plan, accounts }, 'PLANS does not name this plan: its accounts have the strictest limits of all plans');
  }
}
