import type { Author } from '../../domain/audit.ts';
import type { JobStatus } from '../../domain/job.ts';
import type { Periods } from '../../domain/periods.ts';
import { AUDITED_IDS, actorJson } from '../audit.ts';
import { isClockTrusted } from '../connection/clock-watch.ts';
import type { Database, Statement } from '../connection/database.ts';
import { textArray } from '../connection/text-array.ts';
import { dateOf } from './claim.ts';
import { type NewClaim, newClaimOf, type StoredNewClaims } from './claim-new.ts';
import type { EarlierPayload, PublishAnswer, PublishItem } from './publish-items.ts';

/** A worker that may claim new jobs in the statement that stores them. */
export interface AtOnce {
  workerId: number;
  leaseMs: number;
  /** The number of claimable items by queue; ordered by the queues' ids. `since` is that of a claim (`ClaimLimit`). */
  queues: readonly { queueId: string; jobs: number; since: number | null }[];
}

interface PublishResult {
  /** In the order of the items. */
  answers: PublishAnswer[];
  /** The jobs that the worker got; null if it got none. */
  claim: NewClaim | null;
}

/** As `jobferry_publish` gives them. */
export interface StoredAnswers {
  createdAt: number;
  /** In the order of the items; null where no job was created. */
  ids: (string | null)[];
  queueIds: (string | null)[];
  others: OtherAnswer[] | null;
}

interface OtherAnswer extends EarlierPayload {
  outcome: 'existing' | 'queue_not_found' | 'limit_reached' | 'retry' | 'must_encrypt' | 'must_not_encrypt';
  index: number;
  /** The job that was created with the same key before. */
  id: string;
  status: JobStatus;
  createdAt: number;
}

/** JSON for everything but payloads (docs/decisions/0002, 0047). */
const PUBLISH: Statement = {
  name: 'publish',
  text: `
    select answers, claims
      from jobferry_publish_and_claim(
             $1, $2, $3, $4, $5 * interval '1 ms', $6 * interval '1 ms', $7, $8, $9, $10, $11 * interval '1 ms')`,
};

/** Idempotency window while the database's clock is not trusted: no key may become free by a wrong clock. */
const FOR_EVER_MS = 100 * 366 * 86_400_000;

/** Publishes a batch in one commit. @returns results in the order of the items */
export async function publish(db: Database, items: PublishItem[], periods: Periods): Promise<PublishAnswer[]> {
  return (await publishAndClaim(db, items, periods, null)).answers;
}

/** Like `publish`. @param atOnce the worker that may claim the new jobs; null if none may */
export async function publishAndClaim(
  db: Database,
  items: PublishItem[],
  periods: Periods,
  atOnce: AtOnce | null,
): Promise<PublishResult> {
  const [first, second] = items;
  if (first === undefined) return { answers: [], claim: null };
  if (second === undefined && first.key === null) return publishOne(db, first, periods, atOnce);
  const { workerId = null, leaseMs = null, queues } = atOnce ?? {};
  const wanted = [
    queues?.map(({ queueId }) => queueId) ?? null,
    queues?.map(({ jobs }) => jobs) ?? null,
    queues?.map(({ since }) => dateOf(since)) ?? null,
  ];
  const values = [...argumentsOf(db, items, periods), ...wanted, workerId, leaseMs];
  const row = await db.one<{ answers: StoredAnswers; claims: StoredNewClaims | null }>(PUBLISH, values);
  const answers = answersOf(row);
  if (answers.some(({ outcome }) => outcome === 'created')) db.fullDisk.wrote();
  if (row?.claims == null) return { answers, claim: null };
  return { answers, claim: newClaimOf(row.claims, { items, answers, periods }) };
}

/** As `jobferry_publish_one` gives it. */
export interface PublishedOne {
  outcome: 'created' | 'queue_not_found' | 'limit_reached' | 'must_encrypt' | 'must_not_encrypt';
  id: string;
  queueId: string;
  createdAt: Date;
  claims: StoredNewClaims | null;
}

const PUBLISH_ONE: Statement = {
  name: 'publish-one',
  text: `
    select outcome, id, queue_id as "queueId", created_at as "createdAt", claims
      from jobferry_publish_one($1, $2, $3, $4, $5, $6, $7, $8 * interval '1 ms', $9, $10, $11, $12 * interval '1 ms')`,
};

/** An item that is published alone, as most are at a low rate: half of the price of a batch (docs/decisions/0058). */
async function publishOne(
  db: Database,
  item: PublishItem,
  periods: Periods,
  atOnce: AtOnce | null,
): Promise<PublishResult> {
  const { accountId, queue, payload, delayMs, limit, encryptedFor, trace, claimable } = item;
  const { queueId: reserved, since = null } = (claimable === true ? atOnce?.queues[0] : undefined) ?? {};
  const values = [accountId, queue, payload, delayMs, limit, encryptedFor, trace, periods.lifetimeMs];
  const claiming = [reserved, dateOf(since), atOnce?.workerId, atOnce?.leaseMs];
  const row = await db.one<PublishedOne>(PUBLISH_ONE, [...values, ...claiming]);
  if (row === null) throw new Error('jobferry_publish_one returned no row');
  const { outcome, id, queueId, claims } = row;
  if (outcome !== 'created') {
    return { answers: [outcome === 'must_encrypt' ? { outcome, queueId } : { outcome }], claim: null };
  }
  db.fullDisk.wrote();
  const createdAt = row.createdAt.getTime();
  const answers = [{ outcome, id, status: 'pending' as const, createdAt, queueId, isClaimed: false }];
  return { answers, claim: claims && newClaimOf(claims, { items: [item], answers, periods }) };
}

// One entry per queue, or one about the job if there can be only one.
const PUBLISH_AUDITED: Statement = {
  name: 'publish-audited',
  text: `
    with published as materialized (
      select answers from jobferry_publish($1, $2, $3, $4, $5 * interval '1 ms', $6 * interval '1 ms')
    ), created as materialized (
      select one.queue_id, count(*) as jobs, array_agg(one.id order by one.n) as ids
        from published, rows from (json_array_elements_text(answers -> 'ids'),
                                   json_array_elements_text(answers -> 'queueIds'))
                          with ordinality as one(id, queue_id, n)
       where one.id is not null group by one.queue_id
    )
    select answers,
           (select count(case when $9 then
                     jobferry_audit($7, $8::json, 'job.publish', 'job', created.ids[1], null, null,
                                    jsonb_build_object('queue', queue.name))
                   else
                     jobferry_audit($7, $8::json, 'jobs.publish', 'queue', queue.id, queue.name, null,
                                    jsonb_build_object('jobs', created.jobs, 'jobIds', to_jsonb(created.ids[1:${AUDITED_IDS}])))
                   end)
              from created join queue on queue.id = created.queue_id)
      from published`,
};

/**
 * Publishes jobs of one account like `publish`, and writes audit entries about those that were created:
 * never with payloads.
 * @param single whether the request is about one job
 */
export async function publishAudited(
  db: Database,
  by: Author,
  items: PublishItem[],
  { periods, single }: { periods: Periods; single: boolean },
): Promise<PublishAnswer[]> {
  const entry = [by.accountId, actorJson(by.actor), single];
  const values = [...argumentsOf(db, items, periods), ...entry];
  return answersOf(await db.one<{ answers: StoredAnswers }>(PUBLISH_AUDITED, values));
}

/** @returns the arguments of `jobferry_publish` */
function argumentsOf(db: Database, items: PublishItem[], periods: Periods): unknown[] {
  const keyed = items.some(({ key }) => key !== null);
  const limited = items.some(({ limit }) => limit !== null);
  const windowMs = isClockTrusted(db) ? periods.retentionMs : FOR_EVER_MS;
  const payloads = textArray(items.map(({ payload }) => payload));
  return [JSON.stringify(items.map(withoutDefaults)), payloads, keyed, limited, windowMs, periods.lifetimeMs];
}

function answersOf(row: { answers: StoredAnswers } | null): PublishAnswer[] {
  if (row === null) throw new Error('jobferry_publish returned no row');
  return toPublishAnswers(row.answers);
}

export function toPublishAnswers({ createdAt, ids, queueIds, others }: StoredAnswers): PublishAnswer[] {
  const answers = ids.map((id, index): PublishAnswer | null => {
    const queueId = queueIds[index];
    return id == null || queueId == null
      ? null
      : { outcome: 'created', id, status: 'pending', createdAt, queueId, isClaimed: false };
  });
  for (const other of others ?? []) answers[other.index] = toAnswer(other, queueIds[other.index] ?? '');
  return answers.filter((answer) => answer !== null);
}

/** Leaves out payloads, and values that most items share, which need not be serialised and parsed. */
function withoutDefaults(item: PublishItem) {
  const { accountId, queue, key, delayMs, limit, encryptedFor, trace, claimable } = item;
  // Properties by name: objects from a rest pattern survive until a full garbage collection, a fortieth of all memory.
  return {
    accountId,
    queue,
    encryptedFor,
    key: key ?? undefined,
    delayMs: delayMs === 0 ? undefined : delayMs,
    limit: limit ?? undefined,
    trace: trace ?? undefined,
    claimable,
  };
}

function toAnswer({ outcome, id, status, createdAt, differs, stored }: OtherAnswer, queueId: string): PublishAnswer {
  if (outcome === 'existing') return { outcome, id, status, createdAt, queueId, differs, stored };
  return outcome === 'must_encrypt' ? { outcome, queueId } : { outcome };
}
