import type { Database } from '../db/connection/database.ts';
import type { PrismaClient, ReadingPrisma } from '../db/connection/prisma.ts';
import type { NewClaim } from '../db/delivery/claim-new.ts';
import type { AtOnce } from '../db/delivery/publish.ts';
import type { WakeReason } from '../db/delivery/wake-ups.ts';
import type { Tunnels } from '../delivery/tunnel/tunnels.ts';
import type { Account } from '../domain/account.ts';
import { JobferryError } from '../domain/errors.ts';
import type { Periods } from '../domain/periods.ts';
import { type Plan, type PlanTable, planNamed } from '../domain/plan.ts';
import type { QueueSettings } from '../domain/queue.ts';
import type { TestAnswer, TestRequest } from '../domain/receiver-check.ts';
import type { ExaminationFinding, Examined } from '../domain/receiver-examination.ts';
import type { ChangeFeed } from '../live/live.ts';
import type { Tracing } from '../telemetry/tracing/tracing.ts';
import type { ClockTravel } from './server/clock-travel.ts';

type TemplateTable = Readonly<Record<string, Partial<QueueSettings>>>;

/** Properties of this process that the API shows. */
interface ServerIdentity {
  /** Version of Jobferry. */
  version: string;
  /** Value of NODE_ENV. */
  environment: string;
  webhookTimeoutMs: number;
}

/** How people sign in to the dashboard. */
interface SignInSettings {
  /** Lifetime of a session in milliseconds. */
  sessionMaxMs: number;
  /** Issuer of the OpenID provider; null if there is none. */
  issuer: string | null;
  /** Whether people sign in by the OpenID provider only. */
  onlyOidc: boolean;
}

/** New jobs of one queue that one statement is about to store. */
export interface NewJobsOfQueue {
  queueId: string;
  accountId: string;
  jobs: number;
  /** Total length of their payloads in characters. */
  bytes: number;
}

/** Room for new jobs that is reserved for one publish statement. */
export interface Reservation extends AtOnce {
  readonly queues: readonly (NewJobsOfQueue & AtOnce['queues'][number])[];
}

/** Claims jobs for a worker in the statement that stores them (docs/decisions/0044). */
export interface NewJobClaims {
  /** Whether a statement that is sent now may claim what was reserved. */
  mayClaim(reservation: Reservation): boolean;
  /** @returns null if none of the queues has room now. Each reservation has to be given back by `end` */
  reserve(queues: readonly NewJobsOfQueue[]): Reservation | null;
  /**
   * Gives back a reservation.
   * @param claim the jobs to deliver; null if the statement has claimed none, or has failed
   * @param isUnsure whether it may have been committed although it has failed
   */
  end(reservation: Reservation, claim: NewClaim | null, isUnsure?: boolean): void;
}

/** Everything that the use cases share. */
export interface Context {
  db: Database;
  prisma: PrismaClient;
  readingPrisma: ReadingPrisma;
  plans: PlanTable;
  /** Settings of queues by the name of a template, which `create` uses for fields that are left out (D28). */
  templates: TemplateTable;
  periods: Periods;
  server: ServerIdentity;
  signIn: SignInSettings;
  /**
   * Wakes the worker of this process, because the queue may have work. Notifies other processes if this one has no
   * worker or no free capacity. If that is lost, the reconciler finds the work within 5 s (docs/decisions/0058).
   */
  wake(queueId: string, reason: WakeReason): void;
  /** Claims new jobs for the worker of this process; null or undefined if it has none. */
  newJobs?: NewJobClaims | null;
  /**
   * Lets the worker of this process follow a change of Standard Webhooks headers or of a breaker; null or undefined if
   * it has none. Other processes poll.
   */
  followQueues?: (() => Promise<void>) | null;
  /**
   * Sends a test request to a receiver, within the limits of a delivery.
   * @param signal ends it when the client has left
   */
  sendTest(request: TestRequest, signal?: AbortSignal): Promise<TestAnswer>;
  /** Sends test requests to a receiver, and judges its answers. @param signal aborts when the client has left */
  examine(receiver: Examined, signal?: AbortSignal): Promise<ExaminationFinding[]>;
  /** Whether deliveries may connect to an IP address, by the settings of this process. */
  allowsAddress(ip: string): boolean;
  /** Sends changes to the live subscribers of all processes. */
  changes: ChangeFeed;
  /** Address that report URLs begin with; null or undefined if deliveries have none. */
  reportUrl?: string | null | undefined;
  /** Whether there is a server for the mails of alert rules. */
  sendsMail?: boolean | undefined;
  /** The tunnels of this process; null or undefined if it serves no subscriptions. */
  tunnels?: Tunnels | null | undefined;
  /** Lets time pass; null or undefined on a server that is not for development or tests. */
  clockTravel?: ClockTravel | null | undefined;
  /** Null or undefined if this process makes no spans. */
  tracing?: Tracing | null;
}

/**
 * The plan of an account. A plan that PLANS does not name gets the strictest limits of all plans
 * (`warnOfUnknownPlans`).
 */
export function planOf({ plans }: Pick<Context, 'plans'>, { plan }: Pick<Account, 'plan'>): Plan {
  return planNamed(plans, plan);
}

/** The error for the spec's 402. Plans without a limit never cause it. */
export function limitReached(plan: Plan): JobferryError {
  return new JobferryError(
    'limit_reached',
    `your plan's ${plan.monthlyAttempts} delivery attempts of this month are used up; upgrade, or go on next month`,
  );
}
