import { changeLimits, type LimitedQueue } from '../../db/queues/limits.ts';
import { type LiveQueue, liveQueues, waitingOf } from '../../db/queues/live.ts';
import { endHolds, type FoundQueue, isAuditFull, pauseQueues, resumeQueues } from '../../db/queues/several.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import {
  assertTotalAfter,
  type Chosen,
  chosenOf,
  type FormerLimits,
  isOther,
  type Limits,
  MAX_AUDITED_A_DAY,
  type QueueChoice,
  type QueueOutcome,
  undoneLimits,
} from '../../domain/several-queues.ts';
import type { Context } from '../context.ts';

/** The result of a change of several queues, or what it would do. */
export interface SeveralQueues {
  queues: QueueOutcome[];
  /** Start of the pause of the queues that were paused; null for other changes, and if none was. */
  pausedAt: Date | null;
}

interface DryRun {
  dryRun: boolean;
}

/**
 * Pauses, resumes and limits several queues in one call, and ends their holds. A queue that has the state already is
 * left as it is. Each change has an entry of its own in the audit log.
 * @throws JobferryError `invalid_fields`, `not_found` (no queue delivers to a receiver), `conflict` (too many changes
 *   in a day), `unavailable`, and what the method names
 */
export function createSeveralQueues(context: Context) {
  const { db, prisma, periods } = context;

  const assertRoom = async ({ id }: Account) => {
    if (!(await isAuditFull(db, id, MAX_AUDITED_A_DAY))) return;
    const text = `the account made more than ${MAX_AUDITED_A_DAY} changes in the last 24 hours: change queues one by one`;
    throw new JobferryError('conflict', text);
  };
  const chosen = async (account: Account, choice: QueueChoice) => {
    // A dry run that is not refused promises that the change is not.
    await assertRoom(account);
    const live = await liveQueues(db, account.id);
    return { live: new Map(live.map((queue) => [queue.id, queue])), chosen: chosenOf(choice, live) };
  };
  const changed = (account: Account, queueId: string, isWoken: boolean) => {
    if (isWoken) context.wake(queueId, 'change');
    context.changes.changed({ accountId: account.id, queueId });
  };
  /** A change that is one statement. */
  const carryOut = async (
    account: Account,
    choice: QueueChoice,
    { dryRun }: DryRun,
    { wouldChange, change, wakes }: QueuesChange,
  ): Promise<SeveralQueues> => {
    const { live, chosen: queues } = await chosen(account, choice);
    if (dryRun) return { queues: outcomesOf(queues, live, wouldChange), pausedAt: null };
    const found = new Map((await change(idsOf(queues))).map((queue) => [queue.id, queue]));
    const done = [...found.values()].filter((queue) => queue.changed);
    for (const { id } of done) changed(account, id, wakes);
    // A queue that is no longer live was deleted since the list was read.
    const present = new Map([...live].filter(([id]) => found.has(id)));
    const outcomes = outcomesOf(queues, present, ({ id }) => found.get(id)?.changed ?? false);
    return { queues: outcomes, pausedAt: wakes ? null : (done[0]?.pausedAt ?? null) };
  };
  const limit = async (
    account: Account,
    queues: readonly Chosen[],
    wantedOf: (present: readonly LimitedQueue[]) => Map<string, Partial<Limits>>,
  ): Promise<QueueOutcome[]> => {
    const result = await changeLimits(prisma, authorOf(account), idsOf(queues), (present, total) => {
      const wanted = wantedOf(present);
      assertTotalAfter(present, wanted, total);
      return wanted;
    });
    for (const id of result.changed) changed(account, id, true);
    const present = new Map(result.present.map((queue) => [queue.id, queue]));
    return outcomesOf(queues, present, ({ id }) => result.changed.has(id));
  };

  return {
    /** Stops the deliveries of queues. */
    async pauseSeveral(account: Account, choice: QueueChoice, run: DryRun): Promise<SeveralQueues> {
      return carryOut(account, choice, run, {
        wouldChange: ({ pausedAt }) => pausedAt === null,
        change: (ids) => pauseQueues(db, authorOf(account), ids),
        wakes: false,
      });
    },

    /**
     * Ends pauses.
     * @param pausedAt only pauses that began then; null for all. The others have the outcome `changed_since`.
     * @throws JobferryError `forbidden` (suspended account)
     */
    async resumeSeveral(
      account: Account,
      choice: QueueChoice,
      { pausedAt, ...run }: DryRun & { pausedAt: Date | null },
    ): Promise<SeveralQueues> {
      assertNotSuspended(account);
      const result = await carryOut(account, choice, run, {
        wouldChange: (queue) =>
          queue.pausedAt !== null && (pausedAt === null || queue.pausedAt.getTime() === pausedAt.getTime()),
        change: (ids) => resumeQueues(db, authorOf(account), ids, { lifetimeMs: periods.lifetimeMs, pausedAt }),
        wakes: true,
      });
      return pausedAt === null ? result : { ...result, queues: undone(result.queues) };
    },

    /** Ends holds, 20 queues a commit. Up to 1000 of the jobs of each queue that wait for its end become due. */
    async endHoldSeveral(account: Account, choice: QueueChoice, run: DryRun): Promise<SeveralQueues> {
      return carryOut(account, choice, run, {
        wouldChange: ({ hasHold }) => hasHold,
        change: (ids) => endHolds(db, authorOf(account), ids),
        wakes: true,
      });
    },

    /**
     * Sets limits of queues; members that are left out keep their values.
     * @throws JobferryError `forbidden` (the concurrency of all queues would be above the account's limit: nothing is
     * changed)
     */
    async limitSeveral(
      account: Account,
      choice: QueueChoice,
      limits: Partial<Limits>,
      { dryRun }: DryRun,
    ): Promise<SeveralQueues> {
      const { live, chosen: queues } = await chosen(account, choice);
      const wantedOf = (present: readonly { id: string }[]) => new Map(present.map(({ id }) => [id, limits]));
      if (dryRun) {
        const present = idsOf(queues).flatMap((id) => live.get(id) ?? []);
        const total = [...live.values()].reduce((sum, { concurrency }) => sum + concurrency, 0);
        assertTotalAfter(present, wantedOf(present), total);
        return { queues: outcomesOf(queues, live, (queue) => isOther(queue, limits)), pausedAt: null };
      }
      return { queues: await limit(account, queues, wantedOf), pausedAt: null };
    },

    /**
     * Undoes `limitSeveral`: puts the former limits of queues back, of those that still have what it set.
     * @param limits what it set
     * @throws JobferryError `invalid_fields` (too many queues, or one twice), `forbidden`
     */
    async restoreLimits(
      account: Account,
      former: readonly FormerLimits[],
      limits: Partial<Limits>,
    ): Promise<SeveralQueues> {
      const queues = chosenOf({ ids: former.map(({ id }) => id) }, []);
      await assertRoom(account);
      if (queues.length < former.length) throw invalidField('former', 'must name each queue once');
      const outcomes = await limit(account, queues, (present) => undoneLimits(present, former, limits));
      return { queues: undone(outcomes), pausedAt: null };
    },

    /** Counts the pending jobs of queues up to 10 000. */
    async waitingOf(account: Account, queueIds: readonly string[]): Promise<{ count: number; exact: boolean }> {
      return waitingOf(db.reading(account.id), account.id, queueIds);
    },
  };
}

interface QueuesChange {
  wouldChange(queue: LiveQueue): boolean;
  change(ids: string[]): Promise<FoundQueue[]>;
  /** Whether changed queues may have work now. */
  wakes: boolean;
}

function idsOf(chosen: readonly Chosen[]): string[] {
  return chosen.flatMap(({ id }) => (id !== null && isId(id) ? [id] : []));
}

/** @param present those of the queues that are live */
function outcomesOf<Present extends Limits & { id: string; name: string }>(
  chosen: readonly Chosen[],
  present: ReadonlyMap<string, Present>,
  isChanged: (queue: Present) => boolean,
): QueueOutcome[] {
  return chosen.map(({ id, name }) => {
    const queue = id === null ? undefined : present.get(id);
    if (queue === undefined) return { id, name, outcome: 'not_found', limits: null };
    const outcome = isChanged(queue) ? 'changed' : 'unchanged';
    return { id: queue.id, name: queue.name, outcome, limits: limitsOf(queue) };
  });
}

/** In an undo, a queue that is left as it is was changed by another action meanwhile. */
function undone(queues: readonly QueueOutcome[]): QueueOutcome[] {
  return queues.map((queue) => (queue.outcome === 'unchanged' ? { ...queue, outcome: 'changed_since' } : queue));
}

function limitsOf({ concurrency, rateLimitMax, rateLimitWindow }: Limits): Limits {
  return { concurrency, rateLimitMax, rateLimitWindow };
}
