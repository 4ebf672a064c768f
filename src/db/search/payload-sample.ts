import type { Database, Statement } from '../connection/database.ts';

/** Limits of a sample: its jobs, the bytes of their payloads, and the bytes of a single payload. */
const SAMPLE = { jobs: 1000, bytes: 2 * 1024 * 1024, bytesOfOne: 65_536 };

// Each queue gets an equal share, so that a busy queue does not hide the others.
const PAYLOADS: Statement = {
  name: 'payload-sample',
  text: `
    with scope as materialized (
      select id, (select greatest(count(*), 1) from queue where account_id = $1 and deleted_at is null
                     and ($2::text is null or id = $2)) as queues
        from queue where account_id = $1 and deleted_at is null and ($2::text is null or id = $2)
       order by id limit ${SAMPLE.jobs}
    ), newest as materialized (
      select j.id, j.payload, j.payload_key from scope cross join lateral (
        select id, payload, payload_key from job
         where queue_id = scope.id
           and id >= jobferry_first_id((select jobferry_now()) - $3 * interval '1 ms')
         order by id desc limit ceil(${SAMPLE.jobs}::float8 / scope.queues)::bigint) j
    )
    select payload, 0 as jobs, 0 as unsearched
      from (select payload, sum(octet_length(payload)) over (order by id desc) as bytes
              from newest where payload_key is null and octet_length(payload) <= ${SAMPLE.bytesOfOne}) sized
     where bytes <= ${SAMPLE.bytes}
     union all
    select null, count(*)::integer,
           (count(*) filter (where payload_key is not null or octet_length(payload) > ${SAMPLE.bytesOfOne}))::integer
      from newest`,
};

export interface PayloadSample {
  /** Payloads of newest jobs, as long as they are small together. */
  payloads: string[];
  /** Number of newest jobs. */
  jobs: number;
  /**
   * Number of newest jobs that no payload condition matches: their payloads are encrypted,
   * or larger than a search reads.
   */
  unsearched: number;
}

/** Samples the newest jobs of a queue, or of all live queues of the account. */
export async function samplePayloads(
  db: Database,
  { accountId, queueId, windowMs }: { accountId: string; queueId: string | null; windowMs: number },
): Promise<PayloadSample> {
  type Row = { payload: string | null; jobs: number; unsearched: number };
  const rows = await db.query<Row>(PAYLOADS, [accountId, queueId, windowMs]);
  const { jobs = 0, unsearched = 0 } = rows.find(({ payload }) => payload === null) ?? {};
  return { payloads: rows.flatMap(({ payload }) => payload ?? []), jobs, unsearched };
}
