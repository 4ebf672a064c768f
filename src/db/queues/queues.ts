import { type Author, difference } from '../../domain/audit.ts';
import { invalidField, notFound } from '../../domain/errors.ts';
import type { Queue, QueueSettings } from '../../domain/queue.ts';
import { ofSettings, SETTING_NAMES, type SettingValues } from '../../domain/queue-settings.ts';
import { actorJson, audit } from '../audit.ts';
import type { Cipher } from '../connection/cipher.ts';
import type { Database, Statement } from '../connection/database.ts';
import type { PrismaClient } from '../connection/prisma.ts';
import { exclusively, guarded } from '../connection/transactions.ts';
import type { Prisma, Queue as QueueRow } from '../generated/client.ts';
import { columnOf } from '../rows.ts';
import { RENEW_BREAKER } from './breaker.ts';

/** Totals of the account's other queues, for limits that span all queues. */
interface QueueTotals {
  count: number;
  concurrency: number;
  /** Number of deleted queues that still have jobs, so that the sweep has not removed them. */
  tombstones: number;
  isSuspended: boolean;
}

/** Settings beside the contract. */
export interface FurtherSettings {
  tags: string[];
  payloadsEncrypted: boolean;
  standardWebhooks: boolean;
  production: boolean;
  breakerFailures: number | null;
  breakerSeconds: number | null;
}

const FURTHER = {
  tags: true,
  payloadsEncrypted: true,
  standardWebhooks: true,
  production: true,
  breakerFailures: true,
  breakerSeconds: true,
} as const satisfies Record<keyof FurtherSettings, true>;

/** All columns of the contract except the secret, so that no read can leak it. */
const VISIBLE = {
  id: true,
  name: true,
  webhookUrl: true,
  ...ofSettings(() => true as const),
  createdAt: true,
} as const satisfies Prisma.QueueSelect;

export async function listQueues(prisma: PrismaClient, accountId: string): Promise<Queue[]> {
  const rows = await guarded(() =>
    prisma.queue.findMany({ where: { accountId, deletedAt: null }, select: VISIBLE, orderBy: { id: 'asc' } }),
  );
  return rows.map(toQueue);
}

export async function findQueue(prisma: PrismaClient, accountId: string, queueId: string): Promise<Queue | null> {
  const row = await guarded(() =>
    prisma.queue.findFirst({ where: { id: queueId, accountId, deletedAt: null }, select: VISIBLE }),
  );
  return row === null ? null : toQueue(row);
}

/** @returns the settings beside the contract; null when there is no such live queue */
export async function furtherSettings(
  prisma: PrismaClient,
  accountId: string,
  queueId: string,
): Promise<FurtherSettings | null> {
  return guarded(() => prisma.queue.findFirst({ where: { id: queueId, accountId, deletedAt: null }, select: FURTHER }));
}

/** @returns the tags of the live queues that have some, by the id of the queue */
export async function tagsOfQueues(prisma: PrismaClient, accountId: string): Promise<Map<string, string[]>> {
  const rows = await guarded(() =>
    prisma.queue.findMany({
      where: { accountId, deletedAt: null, tags: { isEmpty: false } },
      select: { id: true, tags: true },
      orderBy: { id: 'asc' },
    }),
  );
  return new Map(rows.map(({ id, tags }) => [id, tags]));
}

/** @returns ids of the live queues with at least one of the tags, at most `limit` */
export async function queuesWithTags(
  prisma: PrismaClient,
  { accountId, tags, limit }: { accountId: string; tags: readonly string[]; limit: number },
): Promise<string[]> {
  const where = { accountId, deletedAt: null, tags: { hasSome: [...tags] } };
  const rows = await guarded(() => prisma.queue.findMany({ where, select: { id: true }, take: limit }));
  return rows.map(({ id }) => id);
}

/**
 * Creates a queue. `check` receives the totals of the account's live queues, and throws to refuse. No other create or
 * update of the account runs between the check and the insert.
 * @throws JobferryError `invalid_fields` when the name is in use (D23)
 */
export async function createQueue(
  { prisma, cipher }: { prisma: PrismaClient; cipher: Cipher },
  by: Author,
  queue: QueueSettings & Partial<FurtherSettings> & { name: string; signingSecret: string },
  check: (others: QueueTotals) => void,
): Promise<Queue> {
  const { accountId } = by;
  return exclusively(prisma, accountId, async (tx) => {
    const clash = await tx.queue.findFirst({
      where: { accountId, name: queue.name, deletedAt: null },
      select: { id: true },
    });
    if (clash !== null) throw invalidField('name', `a queue named ${queue.name} exists already`);
    check(await totals(tx, accountId, null));
    // The secret is encrypted for the id of the queue, so the id is created first.
    const id = await newId(tx);
    const signingSecret = cipher.encrypt(`signing-secret:${id}`, queue.signingSecret);
    const data = { ...queue, id, accountId, signingSecret };
    const created = toQueue(await tx.queue.create({ data, select: VISIBLE }));
    const { id: _id, createdAt: _, ...settings } = created;
    const after = { ...settings, ...unusual(queue) };
    const target = { targetType: 'queue', targetId: id, targetName: created.name } as const;
    await audit(tx, by, { action: 'queue.create', ...target, after });
    return created;
  });
}

/** Those that a queue does not have by itself. */
function unusual(queue: Partial<FurtherSettings>): Partial<FurtherSettings> {
  const names = Object.keys(FURTHER) as (keyof FurtherSettings)[];
  const isSet = (name: keyof FurtherSettings) => (name === 'tags' ? queue.tags?.length : queue[name]);
  return Object.fromEntries(names.filter(isSet).map((name) => [name, queue[name]]));
}

/**
 * Changes settings. `check` receives the present queue and the totals of the others, and throws to refuse.
 * @throws JobferryError `not_found`
 */
export async function updateQueue(
  prisma: PrismaClient,
  by: Author,
  queueId: string,
  { tags, ...changes }: Partial<QueueSettings> & { tags?: string[] | undefined },
  check: (present: Queue, others: QueueTotals) => void,
): Promise<Queue> {
  const { accountId } = by;
  return exclusively(prisma, accountId, async (tx) => {
    const select = { ...VISIBLE, tags: true };
    const row = await tx.queue.findFirst({ where: { id: queueId, accountId, deletedAt: null }, select });
    if (row === null) throw notFound('queue');
    const { tags: formerTags, ...former } = row;
    const present = toQueue(former);
    check(present, await totals(tx, accountId, queueId));
    const isRetagged = tags !== undefined && tags.join() !== formerTags.join();
    const changed = difference<QueueSettings & { tags?: string[] }>(
      { ...present, tags: formerTags },
      { ...changes, ...(isRetagged && { tags }) },
    );
    if (changed === null) return present;
    const updated = await tx.queue.update({ where: { id: queueId }, data: changed.after, select: VISIBLE });
    if (changed.after.webhookUrl !== undefined) await tx.$executeRawUnsafe(RENEW_BREAKER.text, queueId);
    const target = { targetType: 'queue', targetId: queueId, targetName: present.name } as const;
    await audit(tx, by, { action: 'queue.update', ...target, ...changed });
    // With a higher concurrency or rate limit, a process may be able to claim waiting jobs.
    await tx.$executeRaw`select jobferry_wake('deliver', ${queueId}, jobferry_now())`;
    return toQueue(updated);
  });
}

const DELETE: Statement = {
  name: 'delete-queue',
  text: `
    with gone as (
      update queue set deleted_at = jobferry_now(), hold_until = null, probe_job_id = null
       where id = $1 and account_id = $2 and deleted_at is null returning *
    )
    select jobferry_wake('deliver', id, jobferry_now()),
           jobferry_audit($2, $3, 'queue.delete', 'queue', id, name, jsonb_build_object(
             'name', name, 'webhookUrl', webhook_url, ${SETTING_NAMES.map((name) => `'${name}', ${columnOf(name)}`).join(', ')}))
      from gone`,
};

/**
 * Turns the queue into a tombstone, so that no further delivery starts.
 * @returns false when there is no such live queue
 */
export async function deleteQueue(db: Database, by: Author, queueId: string): Promise<boolean> {
  return (await db.query(DELETE, [queueId, by.accountId, actorJson(by.actor)])).length > 0;
}

const STATE: Statement = {
  name: 'queue-state',
  text: 'select deleted_at is not null as deleted from queue where id = $1 and account_id = $2',
};

/** @returns whether the account's queue is live, deleted (a tombstone) or unknown */
export async function queueState(
  db: Database,
  accountId: string,
  queueId: string,
): Promise<'live' | 'deleted' | 'unknown'> {
  const row = await db.one<{ deleted: boolean }>(STATE, [queueId, accountId]);
  if (row === null) return 'unknown';
  return row.deleted ? 'deleted' : 'live';
}

const NAME: Statement = {
  name: 'queue-name',
  text: 'select name from queue where id = $1 and account_id = $2',
};

const NAME_OF_JOB: Statement = {
  name: 'queue-name-of-job',
  text: 'select q.name from job j join queue q on q.id = j.queue_id where j.id = $1 and j.account_id = $2',
};

/** @returns the name of the account's queue, also of a deleted one; null if there is none */
export async function queueName(
  db: Database,
  accountId: string,
  of: { queueId: string } | { jobId: string },
): Promise<string | null> {
  const [statement, id] = 'jobId' in of ? [NAME_OF_JOB, of.jobId] : [NAME, of.queueId];
  return (await db.one<{ name: string }>(statement, [id, accountId]))?.name ?? null;
}

async function newId(tx: Prisma.TransactionClient): Promise<string> {
  const [row] = await tx.$queryRaw<{ id: string }[]>`select jobferry_id() as id`;
  if (row === undefined) throw new Error('jobferry_id returned no row');
  return row.id;
}

async function totals(tx: Prisma.TransactionClient, accountId: string, except: string | null): Promise<QueueTotals> {
  const tombstones = await tx.queue.count({ where: { accountId, deletedAt: { not: null } } });
  const others = await tx.queue.aggregate({
    where: { accountId, deletedAt: null, ...(except === null ? {} : { id: { not: except } }) },
    _count: true,
    _sum: { concurrency: true },
  });
  const { suspendedAt } = await tx.account.findUniqueOrThrow({
    where: { id: accountId },
    select: { suspendedAt: true },
  });
  const { _count: count, _sum: sum } = others;
  return { count, concurrency: sum.concurrency ?? 0, tombstones, isSuspended: suspendedAt !== null };
}

/** The cast is safe: CHECK constraints restrict columns of texts to the domain's values. */
function toQueue(row: Pick<QueueRow, keyof typeof VISIBLE>): Queue {
  return row as typeof row & SettingValues;
}
