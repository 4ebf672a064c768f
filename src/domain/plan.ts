import { JobferryError } from './errors.ts';
import { LIMITS, type QueueSettings } from './queue.ts';

/** The limits of an account (D30). `null` means no limit. */
export interface Plan {
  queues: number | null;
  /** Delivery attempts per calendar month (UTC, database clock) at which publish and replay answer 402. */
  monthlyAttempts: number | null;
  /** Attempts included in the price; shown to dashboards, never a reason to refuse. */
  includedAttempts: number;
  maxAttempts: number;
  maxDefers: number;
  /** How far back lists reach, in seconds: `from` is clamped forward to it. */
  window: number;
}

export type PlanTable = Readonly<Record<string, Plan>>;

export const DEFAULT_PLANS: PlanTable = {
  free: {
    queues: 5,
    monthlyAttempts: 30_000,
    includedAttempts: 30_000,
    maxAttempts: 10,
    maxDefers: 100,
    window: 24 * 3600,
  },
  pro: {
    queues: null,
    monthlyAttempts: null,
    includedAttempts: 500_000,
    maxAttempts: 25,
    maxDefers: 1000,
    window: 72 * 3600,
  },
};

/** Returns a plan by its name; for a name that the table does not have, the strictest limits of all plans. */
export function planNamed(plans: PlanTable, name: string): Plan {
  return Object.hasOwn(plans, name) ? (plans[name] as Plan) : strictestPlan(plans);
}

/**
 * Returns the plan for an account whose plan is not in the table, for example after an operator renamed one. Each limit
 * is the lowest that any plan has, so the account's jobs continue and the account gains nothing.
 */
function strictestPlan(plans: PlanTable): Plan {
  const all = Object.values(plans);
  const least = (limits: (number | null)[]): number => Math.min(...limits.filter((limit) => limit !== null));
  const orNone = (limits: (number | null)[]) => (limits.every((limit) => limit === null) ? null : least(limits));
  return {
    queues: orNone(all.map(({ queues }) => queues)),
    monthlyAttempts: orNone(all.map(({ monthlyAttempts }) => monthlyAttempts)),
    includedAttempts: least(all.map(({ includedAttempts }) => includedAttempts)),
    maxAttempts: least(all.map(({ maxAttempts }) => maxAttempts)),
    maxDefers: least(all.map(({ maxDefers }) => maxDefers)),
    window: least(all.map(({ window }) => window)),
  };
}

/** Lowers defaults, which the client did not choose, to the plan's ceilings. */
export function withinCeilings<S extends Pick<QueueSettings, 'maxAttempts' | 'maxDefers'>>(plan: Plan, defaults: S): S {
  const maxAttempts = Math.min(defaults.maxAttempts, plan.maxAttempts);
  const maxDefers = Math.min(defaults.maxDefers, plan.maxDefers);
  return { ...defaults, maxAttempts, maxDefers };
}

/**
 * Refuses settings above the plan's ceilings.
 * @throws JobferryError `forbidden` (spec "Errors", 403)
 */
export function assertPlanAllows(
  plan: Plan,
  settings: Partial<Pick<QueueSettings, 'maxAttempts' | 'maxDefers'>>,
): void {
  for (const field of ['maxAttempts', 'maxDefers'] as const) {
    const requested = settings[field];
    if (requested !== undefined && requested > plan[field]) {
      throw new JobferryError('forbidden', `${field} ${requested} is above your plan's ceiling of ${plan[field]}`);
    }
  }
}

/** @throws JobferryError `forbidden` when the account has all the queues that its plan allows */
export function assertQueueCount(plan: Plan, present: number): void {
  if (plan.queues !== null && present >= plan.queues) {
    throw new JobferryError('forbidden', `your plan allows ${plan.queues} queues, and you have ${present}`);
  }
}

/**
 * Refuses another queue while the account has too many deleted queues, which are stored until their jobs are removed:
 * every process has to check each of them.
 * @throws JobferryError `forbidden`
 */
export function assertTombstones(present: number): void {
  if (present >= LIMITS.tombstones) {
    throw new JobferryError(
      'forbidden',
      `${present} deleted queues are kept until the retention of their jobs has ended, and an account may have at most ` +
        `${LIMITS.tombstones}: reuse a queue instead of deleting it`,
    );
  }
}

/**
 * Refuses a change that raises the account's total concurrency above 1000. The spec requires the
 * resulting total in the message.
 * @throws JobferryError `forbidden`
 */
export function assertAccountConcurrency(total: number): void {
  if (total > LIMITS.accountConcurrency) {
    throw new JobferryError(
      'forbidden',
      `the concurrency of all your queues would total ${total}, above the account limit of ${LIMITS.accountConcurrency}`,
    );
  }
}
