import * as actions from '../../db/bulk/actions.ts';
import { cancelBulkAction, pauseBulkAction, resumeBulkAction } from '../../db/bulk/changes.ts';
import { countCancellable, countPending, countPostponed, countReplayable } from '../../db/bulk/selection.ts';
import type { Database } from '../../db/connection/database.ts';
import { isLimitReached } from '../../db/insight/usage.ts';
import { liveQueues } from '../../db/queues/live.ts';
import { queueState } from '../../db/queues/queues.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { assertKeepable, MAX_RATE_PER_SECOND, matchesEverything } from '../../domain/bulk.ts';
import { assertJobFilter, assertPayloadCondition, assertRange } from '../../domain/check-job-filter.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { type DeadLetterFilter, type JobFilter, NO_QUEUE } from '../../domain/job-filter.ts';
import { asReceiver, receiverOf } from '../../domain/receiver-host.ts';
import { type Context, limitReached, planOf } from '../context.ts';
import { assertDeadLettersExist } from '../dead-letters/exists.ts';

export interface BulkReplayInput {
  /** Null for all live queues of the account. */
  queueId: string | null;
  filter: DeadLetterFilter;
  /** Replays the dead letters of the jobs that match; with it, `filter` must be empty. Null selects by `filter`. */
  jobs: JobFilter | null;
  /** Replays all dead letters; when false, an empty filter is refused. */
  all: boolean;
  /** Replays per second; null: no limit. */
  ratePerSecond: number | null;
  /** Replays one dead letter first, and the rest only when that job has completed. */
  canary: boolean;
}

interface BulkRunNowInput {
  filter: JobFilter;
  /** Must be true for a filter that matches everything. */
  all: boolean;
  /** Jobs per second; null: no limit. */
  ratePerSecond: number | null;
}

/** How many items an action has at its start, and the filter that selects them in all its batches. */
type Priced = Pick<actions.NewBulkAction, 'matched' | 'selection'>;

/**
 * Inserts bulk actions; the workers run them (`worker/bulk`). Each request is written to the audit log.
 * Queues and actions of other accounts are not found.
 */
export function createBulkRequests(context: Context) {
  const { db, periods } = context;

  const matchedByReplay = async (account: Account, input: BulkReplayInput): Promise<Priced> => {
    const { queueId, filter, jobs, all, ratePerSecond } = input;
    if (queueId !== null && !isId(queueId)) throw notFound('queue');
    if (jobs !== null && !matchesEverything(filter))
      throw invalid('give either a filter of dead letters or one of jobs');
    assertKeepable(jobs ?? filter);
    assertRange('dead', filter.dead);
    if (filter.payload !== undefined) assertPayloadCondition(filter.payload);
    if (jobs !== null) assertJobFilter(jobs);
    if (jobs?.replayable === false) throw invalid('`replayable: false` selects jobs that cannot be replayed');
    if (filter.replayed === true) throw invalid('dead letters that were replayed cannot be replayed again');
    // The action implies that the dead letters were not replayed. With a queue it implies the queue, too.
    const implied = queueId === null ? [] : ['queueIds', 'queueNames', 'receivers'];
    const isNarrow = !matchesEverything(jobs ?? filter, [...implied, 'replayed', 'replayable', 'dismissed']);
    assertNarrow(all || isNarrow, queueId === null ? 'dead letter of the account' : 'dead letter of the queue');
    assertRate(ratePerSecond);
    const reading = db.reading(account.id);
    if (queueId !== null) await assertDeadLettersExist(reading, account, queueId);
    const chosen = {
      filter: await withQueuesOfReceivers(reading, account.id, filter),
      jobs: jobs === null ? null : await withQueuesOfReceivers(reading, account.id, jobs),
    };
    const matched = await countReplayable(reading, { accountId: account.id, queueId, ...chosen, periods });
    return { matched, selection: chosen.jobs === null ? chosen.filter : { jobs: chosen.jobs } };
  };

  const matchedByCancel = async (account: Account, wanted: JobFilter, all: boolean): Promise<Priced> => {
    assertJobs(wanted, all);
    const reading = db.reading(account.id);
    const filter = await withQueuesOfReceivers(reading, account.id, wanted);
    const matched = await countCancellable(reading, { accountId: account.id, filter, periods });
    return { matched, selection: filter };
  };

  const matchedByRunNow = async (
    account: Account,
    { filter: wanted, all, ratePerSecond }: BulkRunNowInput,
  ): Promise<Priced> => {
    assertJobs(wanted, all);
    assertRate(ratePerSecond);
    const reading = db.reading(account.id);
    const filter = await withQueuesOfReceivers(reading, account.id, wanted);
    return { matched: await countPostponed(reading, { accountId: account.id, filter, periods }), selection: filter };
  };

  const matchedByPurge = async (account: Account, queueId: string): Promise<number> => {
    if (!isId(queueId) || (await queueState(db, account.id, queueId)) !== 'live') throw notFound('queue');
    return countPending(db.reading(account.id), queueId);
  };

  const start = async (account: Account, action: actions.NewBulkAction): Promise<string> => {
    const id = await actions.startBulkAction(db, authorOf(account), action);
    if (id === null) {
      throw invalid(`${actions.MAX_OPEN} bulk actions are running or paused: wait until one has ended, or cancel one`);
    }
    publishChange(account, id, action.queueId);
    return id;
  };

  const publishChange = (account: Account, actionId: string, queueId: string | null) => {
    context.changes.changed({ accountId: account.id, actionId, ...(queueId === null ? {} : { queueId }) });
  };

  /** @param unchanged the status in which the change has nothing to do */
  const change = async (
    account: Account,
    actionId: string,
    apply: typeof cancelBulkAction,
    unchanged?: actions.BulkStatus,
  ): Promise<string> => {
    if (!isId(actionId)) throw notFound('bulk action');
    if (await apply(db, authorOf(account), actionId)) {
      publishChange(account, actionId, null);
      return actionId;
    }
    const status = await actions.bulkActionStatus(db, account.id, actionId);
    if (status === null) throw notFound('bulk action');
    if (status === unchanged) return actionId;
    throw new JobferryError('conflict', `the bulk action has ended already: it is ${status}`);
  };

  return {
    /** Counts the dead letters that `startReplay` would replay now. @throws JobferryError as `startReplay` */
    countReplay: async (account: Account, input: BulkReplayInput) => (await matchedByReplay(account, input)).matched,

    /**
     * Starts a replay of the matching dead letters, oldest first, or in the order of the matching jobs.
     * @returns the action's id
     * @throws JobferryError `invalid_request`, `not_found`, `gone` (deleted queue), `limit_reached`, `unavailable`
     */
    async startReplay(account: Account, input: BulkReplayInput): Promise<string> {
      assertNotSuspended(account);
      const priced = await matchedByReplay(account, input);
      const plan = planOf(context, account);
      if (await isLimitReached(db, account.id, plan.monthlyAttempts)) throw limitReached(plan);
      const { queueId, ratePerSecond, canary } = input;
      return start(account, { kind: 'replay_dead_letters', queueId, ratePerSecond, canary, ...priced });
    },

    /** Counts the jobs that `startCancel` would cancel now. @throws JobferryError as `startCancel` */
    countCancel: async (account: Account, filter: JobFilter, all: boolean) =>
      (await matchedByCancel(account, filter, all)).matched,

    /**
     * Starts to cancel all matching jobs that are pending or awaiting_ack.
     * @param all must be true for a filter that matches everything
     * @returns the action's id
     * @throws JobferryError `invalid_request`, `unavailable`
     */
    async startCancel(account: Account, filter: JobFilter, all: boolean): Promise<string> {
      const priced = await matchedByCancel(account, filter, all);
      return start(account, { ...PLAIN, kind: 'cancel_jobs', queueId: null, ...priced });
    },

    /** Counts the jobs that `startRunNow` would make due now. @throws JobferryError as `startRunNow` */
    countRunNow: async (account: Account, input: BulkRunNowInput) => (await matchedByRunNow(account, input)).matched,

    /**
     * Starts to make all matching jobs due that are pending and not yet due.
     * @returns the action's id
     * @throws JobferryError `invalid_request`, `unavailable`
     */
    async startRunNow(account: Account, input: BulkRunNowInput): Promise<string> {
      const priced = await matchedByRunNow(account, input);
      const { ratePerSecond } = input;
      return start(account, { kind: 'run_jobs_now', queueId: null, ratePerSecond, canary: false, ...priced });
    },

    /** Counts the jobs that `startPurge` would cancel now. @throws JobferryError `not_found`, `unavailable` */
    countPurge: matchedByPurge,

    /**
     * Starts to cancel every pending job of the queue that was published before now.
     * @returns the action's id
     * @throws JobferryError `not_found`, `invalid_request` (too many actions are running), `unavailable`
     */
    async startPurge(account: Account, queueId: string): Promise<string> {
      const matched = await matchedByPurge(account, queueId);
      return start(account, { ...PLAIN, kind: 'purge_queue', queueId, selection: {}, matched });
    },

    /**
     * Stops a bulk action. The jobs that it has already changed stay changed.
     * @returns the action's id
     * @throws JobferryError `not_found`, `conflict` (it has ended already), `unavailable`
     */
    cancel: (account: Account, actionId: string) => change(account, actionId, cancelBulkAction),

    /**
     * Pauses a running bulk action after its present batch, until it is resumed or cancelled. Pausing a paused one
     * changes nothing.
     * @returns the action's id
     * @throws JobferryError as `cancel`
     */
    pause: (account: Account, actionId: string) => change(account, actionId, pauseBulkAction, 'paused'),

    /** Continues a paused bulk action. Resuming a running one changes nothing. @throws JobferryError as `cancel` */
    resume: (account: Account, actionId: string) => change(account, actionId, resumeBulkAction, 'running'),
  };
}

const PLAIN = { ratePerSecond: null, canary: false } as const;

function assertJobs(filter: JobFilter, all: boolean): void {
  assertKeepable(filter);
  assertJobFilter(filter);
  assertNarrow(all || !matchesEverything(filter), 'job of the account');
}

function assertRate(value: number | null): void {
  if (value === null || (Number.isInteger(value) && value >= 1 && value <= MAX_RATE_PER_SECOND)) return;
  throw invalid(`ratePerSecond must be a whole number from 1 to ${MAX_RATE_PER_SECOND}`);
}

/** A filter that a client forgot to fill must not select everything. */
function assertNarrow(isNarrow: boolean, what: string): void {
  if (isNarrow) return;
  throw invalid(
    `the filter is empty, or has only empty lists and texts. Without a condition it means every ${what}: narrow it down, or say that you mean all with \`all: true\``,
  );
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}

interface OfReceivers {
  queueIds?: readonly string[] | undefined;
  receivers?: readonly string[] | undefined;
}

/**
 * Returns the filter with the live queues that deliver to its receivers now as `queueIds`. A bulk action searches again
 * for each batch, and by then other queues may deliver there, whose jobs the price did not count. `receivers` stays in
 * the filter for people; the batches ignore it beside `queueIds` (`filterOf`). It is left out if the filter has queues
 * of its own, which narrow it further.
 */
async function withQueuesOfReceivers<Filter extends OfReceivers>(
  db: Database,
  accountId: string,
  filter: Filter,
): Promise<Filter> {
  const { receivers, queueIds: own } = filter;
  if (receivers === undefined) return filter;
  const hosts = receivers.map(asReceiver);
  const ids = (await liveQueues(db, accountId))
    .filter(({ id, webhookUrl }) => hosts.includes(receiverOf(webhookUrl) ?? '') && (own?.includes(id) ?? true))
    .map(({ id }) => id);
  // An empty list stands for a condition that was not filled in.
  return { ...filter, receivers: own === undefined ? hosts : undefined, queueIds: ids.length > 0 ? ids : [NO_QUEUE] };
}
