import { asReceiver } from '../../domain/receiver-host.ts';
import type { Database, Statement } from '../connection/database.ts';

/**
 * SQL: the receiver of a webhook, as `receiverOf` in `domain/receiver-host` has it. URLs are stored as the URL parser
 * writes them, so the host is in lower case, and a port that is the default of the scheme is left out.
 */
export function receiverOf(webhookUrl: string): string {
  return `substring(${webhookUrl} from '^[a-z]+://(?:[^/?#@]*@)?([^/?#]*)')`;
}

/** Receivers as people write them. @returns null for none, which a statement takes as no condition */
export function hostsOf(receivers: readonly string[] | undefined): string[] | null {
  return receivers?.map(asReceiver) ?? null;
}

// The statistics have one row for each five minutes with attempts of a queue, so at most 288 rows a queue are read,
// most recent first.
const LAST_ANSWERS: Statement = {
  name: 'last-answers-of-queues',
  text: `
    with own as materialized (
      select id from queue where id = any ($1::text[]) and account_id = $2 and deleted_at is null
    ), day as materialized (
      select jobferry_bucket(jobferry_now() - interval '1 day') as first
    )
    select own.id, accepted.bucket as "acceptedAt", refused.bucket as "refusedAt"
      from own cross join day
      left join lateral (
        select s.bucket from queue_stats s
         where (s.queue_id, s.bucket) >= (own.id, day.first) and (s.queue_id, s.bucket) <= (own.id, 'infinity')
           and s.answered_2xx > 0
         order by s.queue_id desc, s.bucket desc limit 1) accepted on true
      left join lateral (
        select s.bucket from queue_stats s
         where (s.queue_id, s.bucket) >= (own.id, day.first) and (s.queue_id, s.bucket) <= (own.id, 'infinity')
           and s.answered_3xx + s.answered_4xx + s.answered_5xx + s.unauthorized + s.backpressure + s.unanswered > 0
         order by s.queue_id desc, s.bucket desc limit 1) refused on true`,
};

interface LastAnswers {
  id: string;
  /**
   * Start of the last five minutes with a 2xx answer, and of those with another answer or none;
   * null without one in a day.
   */
  acceptedAt: Date | null;
  refusedAt: Date | null;
}

/**
 * Returns when receivers last answered, as far as the statistics have it: attempts of the last seconds are left out.
 */
export async function lastAnswers(
  db: Database,
  accountId: string,
  queueIds: readonly string[],
): Promise<LastAnswers[]> {
  return db.query<LastAnswers & Record<string, unknown>>(LAST_ANSWERS, [queueIds, accountId]);
}
