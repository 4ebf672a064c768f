import { type AckRequest, type AckResult, ackJobs, MAX_ACKS } from '../../db/delivery/ack.ts';
import { type Settlement, settle } from '../../db/delivery/settle.ts';
import { findJobs, type StoredJob } from '../../db/delivery/stored-job.ts';
import { jobDocuments } from '../../db/jobs/documents.ts';
import type { Account } from '../../domain/account.ts';
import { notFound } from '../../domain/errors.ts';
import type { JobDocument } from '../../domain/job.ts';
import { Batcher, type BatcherOptions } from '../../pacing/batcher.ts';
import type { Context } from '../context.ts';

/**
 * Reads and settles single jobs. Concurrent calls share a statement and a commit, because clients ack thousands of jobs
 * a second one by one.
 */
export interface JobBatches {
  /** @throws JobferryError `not_found`, `unavailable` */
  find(account: Account, jobId: string): Promise<StoredJob>;
  /** @throws JobferryError `not_found`, `unavailable` */
  document(account: Account, jobId: string): Promise<JobDocument>;
  /** False when the job has changed since it was read. @throws JobferryError `unavailable` */
  settle(account: Account, settlement: Settlement): Promise<boolean>;
  /** Acks an ordinary job in one statement. @throws JobferryError `unavailable` */
  ack(account: Account, jobId: string, attempt: number | undefined): Promise<AckResult>;
}

const BOUNDS: Omit<BatcherOptions<unknown>, 'maxItems'> = {
  // Items are small, so only their number is bounded.
  maxBytes: Number.POSITIVE_INFINITY,
  sizeOf: () => 0,
  maxWaiting: { items: 5000, bytes: Number.POSITIVE_INFINITY },
  maxWaitingOfOne: { items: 2500, bytes: Number.POSITIVE_INFINITY },
  patience: { calmMs: 3500, busyMs: 500 },
  deadlineMs: 4500,
};

/** Bytes of payloads that one statement reads, and that the event loop handles in one turn. */
const MAX_BYTES = 1024 * 1024;

interface DocumentRequest {
  id: string;
  /** Size of the payload; 0 while it is unknown. */
  bytes: number;
}

export function createJobBatches({ db, periods }: Context): JobBatches {
  const states = new Batcher<string, StoredJob | null>(
    async (ids) => {
      const found = await findJobs(db, ids, periods);
      return ids.map((id) => found.get(id) ?? null);
    },
    { ...BOUNDS, maxItems: 200 },
  );
  const documents = new Batcher(
    async (requests: DocumentRequest[]) => {
      // Documents of known size come first: all of them fit, however large the others are.
      const [known, unknown] = [requests.filter(({ bytes }) => bytes > 0), requests.filter(({ bytes }) => bytes === 0)];
      const ids = [...new Set([...known, ...unknown].map(({ id }) => id))];
      const found = await jobDocuments(db, ids, periods, MAX_BYTES);
      return requests.map(({ id }) => found.get(id) ?? null);
    },
    { ...BOUNDS, maxItems: 25, maxBytes: MAX_BYTES, sizeOf: ({ bytes }) => bytes },
  );
  const acks = new Batcher<AckRequest, AckResult>((acks) => ackJobs(db, acks), { ...BOUNDS, maxItems: MAX_ACKS });
  const settlements = new Batcher<Settlement, boolean>((items) => settleEach(db, items), { ...BOUNDS, maxItems: 200 });

  return {
    async find(account, jobId) {
      const job = await states.add(account.id, jobId);
      if (job?.accountId !== account.id) throw notFound('job');
      return job;
    },
    async document(account, jobId) {
      const giveUpAt = performance.now() + BOUNDS.deadlineMs;
      let wanted: DocumentRequest = { id: jobId, bytes: 0 };
      for (;;) {
        const found = await documents.add(account.id, wanted, giveUpAt - performance.now());
        if (found === null) throw notFound('job');
        if ('document' in found) {
          if (found.accountId !== account.id) throw notFound('job');
          return found.document;
        }
        // The size is known now, so the next batch has room for the document.
        wanted = { id: jobId, bytes: found.bytes };
      }
    },
    settle: (account, settlement) => settlements.add(account.id, settlement),
    ack: (account, id, attempt) => acks.add(account.id, { id, accountId: account.id, attempt }),
  };
}

/** Applies only the first of several reports on one job: the others were decided on the state that it changes. */
async function settleEach(db: Context['db'], items: Settlement[]): Promise<boolean[]> {
  const firsts = new Map<string, Settlement>();
  for (const item of items) if (!firsts.has(item.id)) firsts.set(item.id, item);
  const applied = await settle(db, [...firsts.values()]);
  return items.map((item) => firsts.get(item.id) === item && applied.has(item.id));
}
