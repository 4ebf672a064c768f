import type { StoredNewClaims } from '../../../src/db/delivery/claim-new.ts';
import type { StoredAnswers } from '../../../src/db/delivery/publish.ts';
import type { PublishAnswer, PublishItem } from '../../../src/db/delivery/publish-items.ts';
import { claimedBy, isUsual } from './claim.ts';
import type { JobRow, QueueRow, Tables } from './tables.ts';

/** `jobferry_publish` */
export function publish(tables: Tables, values: unknown[]): { answers: StoredAnswers; claims: StoredNewClaims | null } {
  const [json, payloads, , , retentionMs, lifetimeMs, queueIds, wanted, since, workerId, leaseMs] = values;
  const texts = textsOf(payloads as Buffer);
  const items = (JSON.parse(json as string) as Partial<PublishItem>[]).map((item, n) => withDefaults(item, texts[n]));
  const now = tables.clock();
  const resolved = items.map((item) => ({ item, queue: liveQueue(tables, item) }));
  for (const { item, queue } of resolved) {
    const old = withKey(tables, queue, item.key);
    if (old !== undefined && old.createdAt <= now - (retentionMs as number)) tables.updateJob(old, { key: null });
  }
  const asked = (queueIds ?? []) as string[];
  const open = new Set(
    asked.filter((id, n) => {
      const known = (since as (Date | null)[])[n]?.getTime() ?? Number.NEGATIVE_INFINITY;
      const from = known <= now ? known : Number.NEGATIVE_INFINITY;
      return mayClaimNew(tables, id, (wanted as number[])[n] as number, { now, from });
    }),
  );
  const isFilled = (id: string, n: number) =>
    tables.inFlight(id) + Number((wanted as number[])[n]) === tables.queues.get(id)?.concurrency;
  const full = new Set(asked.filter(isFilled));
  const token = open.size > 0 ? tables.nextToken() : 0;
  let isClaimed = false;
  // Existing jobs and limits are looked up for all items before any is inserted.
  const usedBefore = new Map(tables.usage);
  const existing = resolved.map(({ item, queue }) => withKey(tables, queue, item.key));
  const dues = new Map<string, { queueId: string; due: number }>();
  const answers = resolved.map(({ item, queue }, n): PublishAnswer => {
    if (queue === undefined) return { outcome: 'queue_not_found' };
    const found = existing[n];
    if (found !== undefined) {
      const { id, status, createdAt } = found;
      const differs = found.payload !== item.payload;
      return { outcome: 'existing', id, status, createdAt, queueId: queue.id, differs, stored: null };
    }
    if (item.limit !== null && (usedBefore.get(item.accountId) ?? 0) >= item.limit) {
      return { outcome: 'limit_reached' };
    }
    if (withKey(tables, queue, item.key) !== undefined) return { outcome: 'retry' };
    const job = newJob(tables, queue, item, now, lifetimeMs as number);
    if (item.claimable === true && open.has(queue.id)) {
      Object.assign(
        job,
        claimedBy(queue, job, { token, now, workerId: workerId as number, leaseMs: leaseMs as number }),
      );
      tables.usage.set(queue.accountId, (tables.usage.get(queue.accountId) ?? 0) + 1);
      isClaimed = true;
    } else {
      const second = `${queue.id}:${Math.floor(job.scheduledFor / 1000)}`;
      const due = Math.min(job.scheduledFor, dues.get(second)?.due ?? Number.POSITIVE_INFINITY);
      dues.set(second, { queueId: queue.id, due });
    }
    tables.insertJob(job);
    return { outcome: 'created', id: job.id, status: 'pending', createdAt: now, queueId: queue.id, isClaimed: false };
  });
  for (const { queueId, due } of dues.values()) tables.wake('deliver', queueId, due);
  const published = stored(
    answers,
    resolved.map(({ queue }) => queue?.id ?? null),
    now,
  );
  if (!isClaimed) return { answers: published, claims: null };
  const queues = [...open].map((id) => describe(tables.queues.get(id) as QueueRow, full.has(id)));
  return { answers: published, claims: { claimedAt: now, token: String(token), queues } };
}

/** `jobferry_free_for_new` */
function mayClaimNew(
  tables: Tables,
  queueId: string,
  jobs: number,
  { now, from }: { now: number; from: number },
): boolean {
  const queue = tables.queues.get(queueId);
  if (queue === undefined || !isUsual(queue)) return false;
  if (tables.line(queueId).some(({ scheduledFor }) => scheduledFor >= from && scheduledFor <= now)) return false;
  return tables.inFlight(queueId) + jobs <= queue.concurrency;
}

function describe(queue: QueueRow, isFull: boolean): StoredNewClaims['queues'][number] {
  const { id, webhookUrl, maxAttempts, backoffType, backoffDelay, mode, maxDefers, ackTimeout, ackTimeoutAction } =
    queue;
  return {
    id,
    webhookUrl,
    signingSecret: 'secret',
    nextSigningSecret: null,
    maxAttempts,
    backoffType,
    backoffDelay,
    mode,
    maxDefers,
    ackTimeout,
    ackTimeoutAction,
    isFull,
  };
}

function withDefaults(item: Partial<PublishItem>, payload: string | undefined): PublishItem {
  return { key: null, delayMs: 0, limit: null, ...item, payload } as PublishItem;
}

/** Reads a binary `text[]`. */
function textsOf(array: Buffer): string[] {
  const texts: string[] = [];
  for (let at = 20; at < array.length; ) {
    const end = at + 4 + array.readInt32BE(at);
    texts.push(array.toString('utf8', at + 4, end));
    at = end;
  }
  return texts;
}

function stored(answers: PublishAnswer[], queueIds: (string | null)[], createdAt: number): StoredAnswers {
  const isCreated = ({ outcome }: PublishAnswer) => outcome === 'created';
  return {
    createdAt,
    ids: answers.map((answer) => (isCreated(answer) && 'id' in answer ? answer.id : null)),
    queueIds,
    others: answers.flatMap((answer, index) => (isCreated(answer) ? [] : [{ index, ...answer } as never])),
  };
}

function liveQueue(tables: Tables, { accountId, queue: name }: PublishItem): QueueRow | undefined {
  for (const queue of tables.queues.values()) {
    if (queue.accountId === accountId && queue.name === name && queue.deletedAt === null) return queue;
  }
  return undefined;
}

function withKey(tables: Tables, queue: QueueRow | undefined, key: string | null): JobRow | undefined {
  if (queue === undefined || key === null) return undefined;
  for (const job of tables.jobs.values()) if (job.key === key && job.queueId === queue.id) return job;
  return undefined;
}

function newJob(tables: Tables, queue: QueueRow, item: PublishItem, now: number, lifetimeMs: number): JobRow {
  const scheduledFor = now + item.delayMs;
  return {
    id: tables.nextId(),
    accountId: item.accountId,
    queueId: queue.id,
    status: 'pending',
    attempts: 0,
    maxAttempts: queue.maxAttempts,
    backoffType: queue.backoffType,
    backoffDelay: queue.backoffDelay,
    deferCount: 0,
    shortHolds: 0,
    key: item.key,
    payload: item.payload,
    scheduledFor,
    deliverBy: scheduledFor + lifetimeMs,
    lastError: null,
    createdAt: now,
    completedAt: null,
    deadAt: null,
    deadReason: null,
    token: 0,
    workerId: null,
    claimedAt: null,
    deadline: null,
    interruptions: 0,
    mode: null,
    maxDefers: null,
    ackTimeoutAction: null,
    answerCode: null,
    waitReason: null,
    history: [],
  };
}
