import type { PayloadCondition } from '../../domain/job-filter.ts';
import { payloadProbe, payloadTest, Values } from './payload-conditions.ts';
import { MAX_CANDIDATES } from './statements.ts';

/**
 * Finds dead letters by the payload of their job. If the payload index returns few jobs for the condition, only dead
 * letters of these are tested; otherwise each dead letter is, in the order of the list.
 * @param values the values of the statement so far; those of the condition are added
 * @returns `candidates`: common table expressions that begin with a comma, after one called `own` with the ids of the
 * queues;
 *   `condition`: a condition on the dead letter `d` of the queue `own`
 */
export function letterPayloads(
  payload: PayloadCondition,
  values: unknown[],
): { candidates: string; condition: string } {
  const added = new Values(values);
  const probe = payloadProbe(payload, 's.doc', 'own.id', added);
  const candidates =
    probe === null
      ? ''
      : `, candidates as materialized (select c.id from (${candidatesOf(probe)}) c limit ${MAX_CANDIDATES + 1})`;
  const isCandidate =
    probe === null
      ? 'true'
      : `((select count(*) from candidates) > ${MAX_CANDIDATES} or d.job_id in (select id from candidates))`;
  const document = `(select ${DOCUMENT} as document from job w left join job_search s on s.job_id = w.id where w.id = d.job_id)`;
  // `case`, because the index test must come before the payload is read.
  const condition = `case when ${isCandidate} then coalesce((
    select ${payloadTest(payload, 'p.document', added)} from ${document} p where p.document is not null), false) else false end`;
  return { candidates, condition };
}

/** SQL: the payload as jsonb. It is parsed now if it is not yet indexed; one that cannot be searched is null. */
const DOCUMENT = `
  case when s.job_id is null or s.waiting_account is not null then jobferry_searchable(w.payload) else s.doc -> s.queue_id end`;

const INDEXED = `(select coalesce(max(position), '') from follower where name = 'search')`;

/** Finds the candidates that a search for jobs finds (`statements`). */
const candidatesOf = (probe: string) => `
  select s.job_id as id from own cross join lateral (select s.job_id from job_search s where ${probe} offset 0) s
  union all
  select s.job_id from own cross join lateral (
    select s.job_id from job_search s
     where s.waiting_account = $1 and s.queue_id = own.id offset 0) s
  union all
  select j.id from own cross join lateral (
    select j.id from job j
     where (j.queue_id, j.id) >= (own.id, ${INDEXED} || '0') and (j.queue_id, j.id) < (own.id, 'g') offset 0) j`;
