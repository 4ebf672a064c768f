import { type Claim, claim } from '../../src/db/claim.ts';
import type { Database } from '../../src/db/database.ts';
import { LEASE_MS } from '../db/fixture.ts';

/** A claim of one queue. */
export async function claimOf(db: Database, queueId: string, capacity: number, workerId = 1): Promise<Claim> {
  const [claimed] = await claim(db, { queueIds: [queueId], capacity, workerId, leaseMs: LEASE_MS });
  if (claimed === undefined) throw new Error('a claim that says nothing of its queue');
  return claimed;
}
