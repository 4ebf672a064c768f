import type { Database } from '../../db/connection/database.ts';
import { liveQueues } from '../../db/queues/live.ts';
import { NO_QUEUE } from '../../domain/job-filter.ts';
import { asReceiver, receiverOf } from '../../domain/receiver-host.ts';

interface OfReceivers {
  queueIds?: readonly string[] | undefined;
  receivers?: readonly string[] | undefined;
}

/**
 * Returns the filter with the live queues that deliver to its receivers now as `queueIds`. A bulk action searches again
 * for each batch, and by then other queues may deliver there, whose jobs the price did not count. `receivers` stays in
 * the filter for people; the batches ignore it beside `queueIds` (`filterOf`). It is left out if the filter has queues
 * of its own, which narrow it further.
 */
export async function withQueuesOfReceivers<Filter extends OfReceivers>(
  db: Database,
  accountId: string,
  filter: Filter,
): Promise<Filter> {
  const { receivers, queueIds: own } = filter;
  if (receivers === undefined) return filter;
  const hosts = receivers.map(asReceiver);
  const ids = (await liveQueues(db, accountId))
    .filter(({ id, webhookUrl }) => hosts.includes(receiverOf(webhookUrl) ?? '') && (own?.includes(id) ?? true))
    .map(({ id }) => id);
  // An empty list stands for a condition that was not filled in.
  return { ...filter, receivers: own === undefined ? hosts : undefined, queueIds: ids.length > 0 ? ids : [NO_QUEUE] };
}
