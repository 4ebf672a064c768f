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
    ), newest as (
      select j.id, j.payload, j.payload_key from scope cross join lateral (
        select id, payload, payload_key from job
         where queue_id = scope.id
           and id >= jobferry_first_id((select jobferry_now()) - $3 * interval '1 ms')
         order by id desc limit ceil(${SAMPLE.jobs}::float8 / scope.queues)::bigint) j
    )
    select payload
      from (select payload, sum(octet_length(payload)) over (order by id desc) as bytes
              from newest where payload_key is null and octet_length(payload) <= ${SAMPLE.bytesOfOne}) sized
     where bytes <= ${SAMPLE.bytes}`,
};

/** @returns payloads of the newest jobs of a queue, or of all live queues of the account, without encrypted payloads */
export async function samplePayloads(
  db: Database,
  { accountId, queueId, windowMs }: { accountId: string; queueId: string | null; windowMs: number },
): Promise<string[]> {
  const rows = await db.query<{ payload: string }>(PAYLOADS, [accountId, queueId, windowMs]);
  return rows.map(({ payload }) => payload);
}
