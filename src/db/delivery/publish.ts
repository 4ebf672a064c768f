import type { Author } from '../../domain/audit.ts';
import type { JobStatus } from '../../domain/job.ts';
import type { Periods } from '../../domain/periods.ts';
import { AUDITED_IDS, actorJson } from '../audit.ts';
import { isClockTrusted } from '../connection/clock-watch.ts';
import type { Database, Statement } from '../connection/database.ts';

export interface PublishItem {
  accountId: string;
  queue: string;
  /** JSON source text (D26). */
  payload: string;
  key: string | null;
  delayMs: number;
  /** The plan's monthly attempts; null without a limit. */
  limit: number | null;
  /** Id of the queue that the payload is encrypted for; undefined when it is not encrypted. */
  encryptedFor?: string | undefined;
  /** Trace context that is stored with the job; null or undefined without one. */
  trace?: string | null | undefined;
}

export type PublishAnswer =
  | { outcome: 'created'; id: string; status: JobStatus; createdAt: number; queueId: string }
  | ExistingJob
  | { outcome: 'queue_not_found' | 'limit_reached' | 'retry' | 'must_not_encrypt' }
  | { outcome: 'must_encrypt'; queueId: string };

/** The job that was created with the same idempotency key before. */
export interface ExistingJob extends EarlierPayload {
  outcome: 'existing';
  id: string;
  status: JobStatus;
  createdAt: number;
  queueId: string;
}

interface EarlierPayload {
  /** Whether the payload of the earlier job is another one; null if that needs `stored`. */
  differs: boolean | null;
  /** The payload of the earlier job as it is stored, if one of the two is encrypted and their sizes do not differ already. */
  stored: string | null;
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

/**
 * JSON rather than arrays: `JSON.stringify` escapes in native code, while the driver escapes arrays character by
 * character (docs/decisions/0002).
 */
const PUBLISH: Statement = {
  name: 'publish',
  text: `select jobferry_publish($1, $2, $3 * interval '1 ms', $4 * interval '1 ms') as answers`,
};

/** Idempotency window while the database's clock is not trusted: no key may become free by a wrong clock. */
const FOR_EVER_MS = 100 * 366 * 86_400_000;

/** Publishes a batch in one commit. @returns results in the order of the items */
export async function publish(db: Database, items: PublishItem[], periods: Periods): Promise<PublishAnswer[]> {
  if (items.length === 0) return [];
  const answers = answersOf(await db.one<{ answers: StoredAnswers }>(PUBLISH, argumentsOf(db, items, periods)));
  if (answers.some(({ outcome }) => outcome === 'created')) db.fullDisk.wrote();
  return answers;
}

// One entry per queue, or one about the job if there can be only one.
const PUBLISH_AUDITED: Statement = {
  name: 'publish-audited',
  text: `
    with published as materialized (
      select jobferry_publish($1, $2, $3 * interval '1 ms', $4 * interval '1 ms') as answers
    ), created as materialized (
      select one.queue_id, count(*) as jobs, array_agg(one.id order by one.n) as ids
        from published, rows from (json_array_elements_text(answers -> 'ids'),
                                   json_array_elements_text(answers -> 'queueIds'))
                          with ordinality as one(id, queue_id, n)
       where one.id is not null group by one.queue_id
    )
    select answers,
           (select count(case when $7 then
                     jobferry_audit($5, $6::json, 'job.publish', 'job', created.ids[1], null, null,
                                    jsonb_build_object('queue', queue.name))
                   else
                     jobferry_audit($5, $6::json, 'jobs.publish', 'queue', queue.id, queue.name, null,
                                    jsonb_build_object('jobs', created.jobs, 'jobIds', to_jsonb(created.ids[1:${AUDITED_IDS}])))
                   end)
              from created join queue on queue.id = created.queue_id)
      from published`,
};

/**
 * Publishes jobs of one account like `publish`, and writes audit entries about those that were created: never with payloads.
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
  const windowMs = isClockTrusted(db) ? periods.retentionMs : FOR_EVER_MS;
  return [JSON.stringify(items.map(withoutDefaults)), keyed, windowMs, periods.lifetimeMs];
}

function answersOf(row: { answers: StoredAnswers } | null): PublishAnswer[] {
  if (row === null) throw new Error('jobferry_publish returned no row');
  return toPublishAnswers(row.answers);
}

export function toPublishAnswers({ createdAt, ids, queueIds, others }: StoredAnswers): PublishAnswer[] {
  const answers = ids.map((id, index): PublishAnswer | null => {
    const queueId = queueIds[index];
    return id == null || queueId == null ? null : { outcome: 'created', id, status: 'pending', createdAt, queueId };
  });
  for (const other of others ?? []) answers[other.index] = toAnswer(other, queueIds[other.index] ?? '');
  return answers.filter((answer) => answer !== null);
}

/** Leaves out values that most items share, which need not be serialised and parsed. */
function withoutDefaults({ accountId, queue, payload, key, delayMs, limit, encryptedFor, trace }: PublishItem) {
  // Properties by name: objects from a rest pattern survive until a full garbage collection, a fortieth of all memory.
  return {
    accountId,
    queue,
    payload,
    encryptedFor,
    key: key ?? undefined,
    delayMs: delayMs === 0 ? undefined : delayMs,
    limit: limit ?? undefined,
    trace: trace ?? undefined,
  };
}

function toAnswer({ outcome, id, status, createdAt, differs, stored }: OtherAnswer, queueId: string): PublishAnswer {
  if (outcome === 'existing') return { outcome, id, status, createdAt, queueId, differs, stored };
  return outcome === 'must_encrypt' ? { outcome, queueId } : { outcome };
}
