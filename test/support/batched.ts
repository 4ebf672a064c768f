import { textArray } from '../../src/db/connection/text-array.ts';
import type { StoredNewClaims } from '../../src/db/delivery/claim-new.ts';
import type { PublishedOne, StoredAnswers } from '../../src/db/delivery/publish.ts';
import type { SettleItem } from '../simulation/model/settle.ts';

/**
 * A statement for one job alone, as the one for a batch that does the same (`test/simulation/model.test.ts` compares
 * them).
 */
export interface Batched {
  name: string;
  values: unknown[];
  /** Makes of the batch's rows those of the statement. */
  narrow(rows: object[]): object[];
}

/** The statement for a batch that does the same. */
export const batchOf = (name: string) => name.replace(/-one$/, '');

/** The columns of its job that an item of a batch repeats. */
type JobOf = (id: string) => Pick<SettleItem, 'attempts' | 'deferCount' | 'shortHolds' | 'lastError'> | undefined;

export function batched(name: string, values: unknown[], jobOf: JobOf = () => undefined): Batched {
  if (name === 'publish-one') return publishOf(values);
  if (name === 'settle-one') return settleOf(jobOf, values);
  if (name === 'claim-one') return claimOf(values);
  return { name, values, narrow: (rows) => rows };
}

function claimOf([queueId, jobs, bytes, since, workerId, leaseMs]: unknown[]): Batched {
  return { name: 'claim', values: [[queueId], [jobs], [bytes], [since], workerId, leaseMs], narrow: (rows) => rows };
}

function publishOf(values: unknown[]): Batched {
  const [accountId, queue, payload, delayMs, limit, encryptedFor, trace, lifetimeMs, ...claiming] = values;
  const [reserved, since, workerId, leaseMs] = claiming;
  const claimable = reserved == null ? undefined : true;
  const item = { accountId, queue, delayMs, limit: limit ?? undefined, encryptedFor, trace, claimable };
  const atOnce = [
    reserved == null ? null : [reserved],
    reserved == null ? null : [1],
    reserved == null ? null : [since],
    workerId ?? null,
    leaseMs ?? null,
  ];
  return {
    name: 'publish',
    values: [JSON.stringify([item]), textArray([payload as string]), false, limit != null, 0, lifetimeMs, ...atOnce],
    narrow: ([row]) => [onlyOne(row as { answers: StoredAnswers; claims: StoredNewClaims | null })],
  };
}

function onlyOne({ answers, claims }: { answers: StoredAnswers; claims: StoredNewClaims | null }): object {
  const { ids, queueIds, others, createdAt } = answers;
  const outcome = others?.[0]?.outcome ?? 'created';
  const published: PublishedOne = {
    outcome: outcome as PublishedOne['outcome'],
    id: ids[0] ?? '',
    queueId: queueIds[0] ?? '',
    createdAt: new Date(createdAt),
    claims,
  };
  return published;
}

function settleOf(jobOf: JobOf, [id, token, entryAttempt, entryCode]: unknown[]): Batched {
  const job = jobOf(id as string);
  const item: SettleItem = {
    id: id as string,
    expected: 'processing',
    token: token as string,
    status: 'completed',
    attempts: job?.attempts ?? 0,
    deferCount: job?.deferCount ?? 0,
    shortHolds: job?.shortHolds ?? 0,
    interruptions: 0,
    waitMs: 0,
    lastError: job?.lastError ?? null,
    deadReason: null,
    entryAttempt: entryAttempt as number,
    entryStatus: 'success',
    entryCode: entryCode as number | null,
  };
  return {
    name: 'settle',
    values: [JSON.stringify([item]), true],
    narrow: ([row]) => [{ applied: (row as { applied: string[] }).applied.length > 0 }],
  };
}
