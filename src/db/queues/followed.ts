import type { Database, Statement } from '../connection/database.ts';

/**
 * Settings of a queue that a worker follows by polling, because a claim that returned them would cost all queues
 * something.
 */
export interface FollowedSettings {
  /** Whether deliveries have the headers of Standard Webhooks (docs/decisions/0050). */
  standardWebhooks: boolean;
  /** Whether the queue has a breaker, so that its answers are counted (docs/decisions/0053). */
  breaker: boolean;
}

export interface FollowedQueues {
  /** Differs if the queues or their settings differ. */
  digest: string;
  /** Null if the digest is the one that was given. */
  queues: ReadonlyMap<string, FollowedSettings> | null;
}

// Polled by every worker process: as long as nothing changes, the answer is the digest alone,
// however many queues there are.
const FOLLOWED: Statement = {
  name: 'followed-queues',
  text: `
    with present as materialized (
      select coalesce(string_agg(
               concat_ws(' ', id, case when standard_webhooks then 's' end,
                         case when breaker_failures is not null or breaker_seconds is not null then 'b' end),
               ',' order by id), '') as settings
        from queue
       where (standard_webhooks or breaker_failures is not null or breaker_seconds is not null) and deleted_at is null
    ), digested as materialized (
      select settings, encode(sha256(convert_to(settings, 'UTF8')), 'hex') as digest from present
    )
    select digest, case when digest is distinct from $1::text then settings end as settings from digested`,
};

/**
 * Returns the live queues of all accounts that have one of the settings.
 * @param known the digest of what the process has; null if it has nothing
 */
export async function followedQueues(db: Database, known: string | null): Promise<FollowedQueues> {
  const row = await db.one<{ digest: string; settings: string | null }>(FOLLOWED, [known]);
  if (row === null) throw new Error('the database returned no digest');
  const { digest, settings } = row;
  return { digest, queues: settings === null ? null : new Map(settings.split(',').flatMap(toEntry)) };
}

function toEntry(text: string): [string, FollowedSettings][] {
  const [id = '', ...set] = text.split(' ');
  return id === '' ? [] : [[id, { standardWebhooks: set.includes('s'), breaker: set.includes('b') }]];
}
