import type { Database } from '../../src/db/connection/database.ts';
import * as accounts from '../../src/db/operator/accounts.ts';
import * as restoration from '../../src/db/operator/backup/restoration.ts';
import { Snapshot } from '../../src/db/operator/backup/snapshot.ts';
import * as deletion from '../../src/db/operator/deletion.ts';
import * as facts from '../../src/db/operator/facts.ts';
import { futureJobs } from '../../src/db/operator/future-jobs.ts';
import { findJob, jobWithKey, type ListedStatus, listJobs } from '../../src/db/operator/jobs.ts';
import { listKeys } from '../../src/db/operator/keys.ts';
import { lockHolders } from '../../src/db/operator/locks.ts';
import { findQueue, listQueues, MAX_COUNTED, queuesNamed } from '../../src/db/operator/queues.ts';
import { blindRole, snapshotHolders } from '../../src/db/operator/snapshots.ts';
import { resumeAccount, suspendAccount } from '../../src/db/operator/suspension.ts';
import { giveOperatorsRole, operatorsAccountId } from '../../src/db/operator-account.ts';
import { keysOfProcesses } from '../../src/db/queues/needed-keys.ts';
import { OPERATOR } from '../../src/domain/audit.ts';
import { OLD_SNAPSHOT } from '../../src/domain/doctor-snapshots.ts';
import { LIFETIME_MS, RETENTION_MS } from '../../test/support/database-fixture.ts';
import { type Case, JOBS, type Queues, type Seen } from './indexed-cases.ts';
import type { Others } from './seed.ts';

export interface SeenWithOthers extends Seen {
  others: Others;
}

const first = (limit = 100) => ({ after: null, limit });

/** The statements of the operator's commands. They are run by hand, so some may count what is there. */
export function operatorCases(seen: () => SeenWithOthers): Case[] {
  return [
    // The keys and queues of each account are counted.
    ['list accounts', JOBS * 0.2 + 80_000, () => accounts.listAccounts(seen().db, first())],
    ['show an account', 5000, () => accounts.findAccount(seen().db, seen().others.idle)],
    ['usage by month', 50, () => accounts.usageByMonth(seen().db, seen().others.idle)],
    ['set a plan', 100, setPlans(seen)],
    ['set a limit of requests', 100, setLimits(seen)],
    ["hand on the operator's role", 100, handOnRole(seen)],
    ['list the keys of all accounts', 1000, () => listKeys(seen().db, null, { ...first(), revoked: false })],
    ['list the keys of an account', 1000, () => listKeys(seen().db, seen().others.idle, { ...first(), revoked: true })],
    // Each with its jobs in flight and its oldest due job.
    ['list the queues of all accounts', 5000, () => listQueues(seen().db, null, first())],
    ['list the queues of an account', 5000, () => listQueues(seen().db, seen().others.idle, first())],
    ['show a queue', MAX_COUNTED * 4 + 1000, () => findQueue(seen().db, seen().q.dead.id)],
    // All queues are read for a name.
    [
      'find queues by a part of their name',
      32_000,
      () => listQueues(seen().db, null, { ...first(), name: 'none such' }),
    ],
    ['find queues by their name', 32_000, () => queuesNamed(seen().db, 'none such', null, 20)],
    ['find a job by its key', 50, () => jobWithKey(seen().db, seen().q.completed.id, 'key-77')],
    ['list jobs', 1000, listed(seen, 'completed', null)],
    ['list due jobs', 1000, listed(seen, 'paused', 'pending')],
    ['list jobs that are being delivered', 1000, listed(seen, 'pending', 'processing')],
    ['list jobs that await an ack', 1000, listed(seen, 'pending', 'awaiting_ack')],
    ['list dead jobs', 1000, listed(seen, 'dead', 'dead')],
    ['list completed jobs', 1000, listed(seen, 'completed', 'completed')],
    // None of the newest ones is completed: as many are read as the command examines.
    ['list completed jobs where there are none', MAX_COUNTED * 2 + 1000, listed(seen, 'pending', 'completed')],
    ['show a job', 500, () => findJob(seen().db, seen().jobId)],
    // A thousand queues, five hundred at once: each batch passes those of the earlier ones.
    ['suspend an account, and resume it', 40_000, suspension(seen)],
    // It reads the oldest due job of each of two thousand queues.
    ['the facts of doctor', 20_000, doctor(seen)],
    ['what a restore asks', 1000, beforeRestore(seen)],
  ];
}

const listed = (seen: () => SeenWithOthers, queue: keyof Queues, status: ListedStatus | null) => () =>
  listJobs(seen().db, seen().q[queue].id, { status, limit: 100 });

const setPlans = (seen: () => SeenWithOthers) => async () => {
  for (const plan of ['free', 'pro']) await accounts.setPlan(seen().db, OPERATOR, seen().others.idle, plan);
};

const setLimits = (seen: () => SeenWithOthers) => async () => {
  for (const limit of [5, null]) await accounts.setRequestLimit(seen().db, OPERATOR, seen().others.idle, limit);
};

const handOnRole = (seen: () => SeenWithOthers) => async () => {
  const { db, others } = seen();
  const before = await operatorsAccountId(db);
  for (const id of [others.idle, before ?? '']) await giveOperatorsRole(db, OPERATOR, id);
};

const suspension = (seen: () => SeenWithOthers) => async () => {
  const { db, others } = seen();
  await suspendAccount(db, OPERATOR, others.idle);
  await resumeAccount(db, OPERATOR, others.idle, LIFETIME_MS);
};

const doctor = (seen: () => SeenWithOthers) => async () => {
  const { db } = seen();
  await facts.settingFacts(db);
  await facts.standbyFacts(db);
  await facts.indexFacts(db);
  await facts.vacuumFacts(db);
  await facts.sequenceFacts(db);
  await facts.lagFacts(db, RETENTION_MS);
  await facts.databaseBytes(db);
  await facts.processFacts(db);
  await lockHolders(db);
  await blindRole(db);
  await snapshotHolders(db, OLD_SNAPSHOT.reported);
  await futureJobs(db);
  await keysOfProcesses(db);
};

const beforeRestore = (seen: () => SeenWithOthers) => async () => {
  const { db, others } = seen();
  await restoration.presentAccount(db, [others.idle]);
  await restoration.areStatisticsPast(db, new Date().toISOString(), RETENTION_MS);
};

/** Reads all rows of all accounts, as `backup` does. @returns their number */
export function backUp({ fixture, db }: Seen): Promise<number> {
  return Snapshot.take({ db, url: fixture.url, retentionMs: RETENTION_MS }, async (snapshot) => {
    await snapshot.encryption(null);
    let rows = 0;
    for await (const _row of snapshot.rows(null)) rows += 1;
    return rows;
  });
}

/** The batches of the deletion of an account, in their order. Each case has work left at its last call. */
export function deletionCases(seen: () => SeenWithOthers): Case[] {
  const account = () => seen().others.deleted.accountId;
  const queue = () => seen().others.deleted.queue.id;
  const begun = () => begunDeletion(seen().db, account());
  const none = { accountId: '', requestedAt: new Date() };
  const [jobs, ...ofQueue] = deletion.emptyingQueue({} as Database, none, '').map((_, n): Case => {
    const name = ['jobs', 'search documents', 'statistics', 'statistics of completed jobs'][n];
    const work = async () => removed(deletion.emptyingQueue(seen().db, await begun(), queue())[n]);
    return [`delete the ${name} of a queue`, BOUNDS_OF_QUEUE[n] ?? 0, work];
  });
  if (jobs === undefined) throw new Error('no case');
  return [
    ['begin a deletion', 2000, () => deletion.beginDeletion(seen().db, OPERATOR, account())],
    ['the receipt of a deletion', 50, () => deletion.findReceipt(seen().db, account())],
    // It passes the queues that are marked already.
    ['mark the queues of an account', 30_000, async () => removed(deletion.markingQueues(seen().db, await begun()))],
    ['the next queue to empty', 200, async () => deletion.nextQueue(seen().db, await begun(), '')],
    jobs,
    ...ofQueue,
    [
      'remove emptied queues',
      10_000,
      async () => removed(deletion.removingQueues(seen().db, await begun(), new Date(), 0)),
    ],
    ...deletion.removingRows({} as Database, none).map((_, n): Case => {
      const kind = KINDS[n];
      const work = async () => removed(deletion.removingRows(seen().db, await begun())[n], kind?.isFew);
      return [`remove ${kind?.name} of an account`, kind?.bound ?? 5000, work];
    }),
    // A connection finishes one deletion. After some, the plan of a foreign key reads the audit log,
    // which is that of one account.
    ['finish a deletion', 20_000, finished(seen)],
  ];
}

/**
 * In the order of `emptyingQueue`. Once, the documents pass the index entries of those that were removed with their
 * jobs.
 */
const BOUNDS_OF_QUEUE = [10_000, 25_000, 3000, 3000];

/** In the order of `removingRows`. */
const KINDS: readonly { name: string; bound?: number; isFew?: true }[] = [
  // A batch passes the actions that have no jobs left, of which there are as many as one has notes here.
  { name: 'the jobs of actions', bound: 20_000 },
  { name: 'actions' },
  { name: 'alerts' },
  { name: 'notifications' },
  // It passes the index entries of their alerts and notifications, which were removed before.
  { name: 'alert rules', bound: 60_000, isFew: true },
  { name: 'dismissals', isFew: true },
  { name: 'saved views', isFew: true },
  { name: 'members', isFew: true },
  { name: 'API keys', isFew: true },
  { name: 'audit entries' },
];

/** A call that finds nothing proves nothing, unless there are few rows. */
async function removed(batches: deletion.Batches | undefined, isFew = false): Promise<void> {
  const rows = (await batches?.()) ?? 0;
  if (rows !== 500 && !isFew) throw new Error(`${rows} rows instead of a full batch`);
}

const finished = (seen: () => SeenWithOthers) => async () => {
  const { db } = seen();
  const made = await db.one<{ id: string }>(`insert into account (name, plan) values ('gone', 'pro') returning id`);
  const id = made?.id ?? '';
  await deletion.beginDeletion(db, OPERATOR, id);
  await deletion.finishDeletion(db, OPERATOR, await begunDeletion(db, id));
  if ((await deletion.findReceipt(db, id))?.finishedAt == null) throw new Error('not deleted');
};

async function begunDeletion(db: Database, accountId: string): Promise<deletion.Deletion> {
  const receipt = await deletion.findReceipt(db, accountId);
  if (receipt === null) throw new Error('the deletion has not begun');
  return receipt;
}
