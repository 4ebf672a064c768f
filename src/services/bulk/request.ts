import * as actions from '../../db/bulk/actions.ts';
import { countCancellable, countPending, countReplayable, isLimitReached } from '../../db/bulk/selection.ts';
import { queueState } from '../../db/queues/queues.ts';
import { assertKeepable, MAX_RATE_PER_SECOND, matchesEverything } from '../../domain/bulk.ts';
import { JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { JobFilter } from '../../domain/job-filter.ts';
import { type Context, limitReached, planOf } from '../context.ts';
import type { Account } from '../index.ts';
import { assertDeadLettersExist } from '../jobs/list.ts';
import type { BulkOperations, BulkReplayInput } from '../operations.ts';

/** Asks for bulk actions; the workers carry them out (`run-bulk-action`). */
export function createBulkOperations(context: Context): BulkOperations {
  const { db, periods } = context;

  const countReplay = async (account: Account, input: BulkReplayInput): Promise<number> => {
    const { queueId, filter, all, ratePerSecond } = input;
    if (!isId(queueId)) throw notFound('queue');
    assertKeepable(filter);
    if (filter.replayed === true) throw invalid('dead letters that were replayed cannot be replayed again');
    // Neither says more than the action does by itself.
    assertAsked(all || !matchesEverything(filter, ['queueIds', 'replayed']), 'dead letter of the queue');
    if (ratePerSecond !== null && !isRate(ratePerSecond)) {
      throw invalid(`ratePerSecond must be a whole number from 1 to ${MAX_RATE_PER_SECOND}`);
    }
    await assertDeadLettersExist(context.db.reading(account.id), account, queueId);
    return countReplayable(db.reading(account.id), queueId, filter, periods);
  };

  const countCancel = async (account: Account, filter: JobFilter, all: boolean): Promise<number> => {
    assertKeepable(filter);
    assertAsked(all || !matchesEverything(filter), 'job of the account');
    return countCancellable(db.reading(account.id), { accountId: account.id, filter, periods });
  };

  const start = async (account: Account, action: actions.NewBulkAction): Promise<string> => {
    const id = await actions.startBulkAction(db, account, action);
    if (id === null) {
      throw invalid(`${actions.MAX_RUNNING} bulk actions are running: wait until one has ended, or cancel one`);
    }
    tell(account, id, action.queueId);
    return id;
  };

  const tell = (account: Account, actionId: string, queueId: string | null) => {
    context.changes.changed({ accountId: account.id, actionId, ...(queueId === null ? {} : { queueId }) });
  };

  return {
    countReplay,
    countCancel,

    async startReplay(account, input) {
      const matched = await countReplay(account, input);
      const plan = planOf(context, account);
      if (await isLimitReached(db, account.id, plan.monthlyAttempts)) throw limitReached(plan);
      const { queueId, filter: selection, ratePerSecond, canary } = input;
      return start(account, { kind: 'replay_dead_letters', queueId, selection, ratePerSecond, canary, matched });
    },

    async startCancel(account, filter, all) {
      const matched = await countCancel(account, filter, all);
      return start(account, { ...PLAIN, kind: 'cancel_jobs', queueId: null, selection: filter, matched });
    },

    async startPurge(account, queueId) {
      if (!isId(queueId) || (await queueState(db, account.id, queueId)) !== 'live') throw notFound('queue');
      const matched = await countPending(db.reading(account.id), queueId);
      return start(account, { ...PLAIN, kind: 'purge_queue', queueId, selection: {}, matched });
    },

    async cancelBulkAction(account, actionId) {
      if (!isId(actionId)) throw notFound('bulk action');
      if (await actions.cancelBulkAction(db, account, actionId)) {
        tell(account, actionId, null);
        return actionId;
      }
      const status = await actions.bulkActionStatus(db, account.id, actionId);
      if (status === null) throw notFound('bulk action');
      throw new JobferryError('conflict', `the bulk action has ended already: it is ${status}`);
    },
  };
}

const PLAIN = { ratePerSecond: null, canary: false } as const;

function isRate(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_RATE_PER_SECOND;
}

/** A filter that somebody forgot to fill must not be taken for everything. */
function assertAsked(isAsked: boolean, what: string): void {
  if (isAsked) return;
  throw invalid(`an empty filter matches every ${what}: narrow it down, or say that you mean all with \`all: true\``);
}

function invalid(message: string): JobferryError {
  return new JobferryError('invalid_request', message);
}
