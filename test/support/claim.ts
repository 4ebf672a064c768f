import type { Database } from '../../src/db/connection/database.ts';
import { type Claim, claim } from '../../src/db/delivery/claim.ts';
import { LEASE_MS } from './database-fixture.ts';

/** Payload bytes of a claim, as the dispatcher passes them. */
export const CLAIM_BYTES = 4 * 1024 * 1024;

/** A claim of one queue, repeated while another claim holds it, as the dispatcher does. */
export async function claimOf(db: Database, queueId: string, capacity: number, workerId = 1): Promise<Claim> {
  for (let attempt = 1; attempt <= 1000; attempt += 1) {
    const limits = [{ queueId, jobs: capacity, bytes: CLAIM_BYTES, since: null }];
    const claims = await claim(db, { limits, workerId, leaseMs: LEASE_MS });
    const claimed = claims.get(queueId);
    if (claimed === undefined) throw new Error('the claim returned no result for its queue');
    if (claimed.waitMs !== 0 || claimed.jobs.length > 0) return claimed;
  }
  throw new Error(`another transaction has locked the queue ${queueId}`);
}
