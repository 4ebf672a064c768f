import type { Database } from '../../db/connection/database.ts';
import { findAccount } from '../../db/operator/accounts.ts';
import { processFacts } from '../../db/operator/facts.ts';
import { findQueue, type NamedQueue, queuesNamed, type ShownQueue } from '../../db/operator/queues.ts';
import { hasWorker } from '../../domain/doctor-releases.ts';
import { isId } from '../../domain/id.ts';
import { CommandError, UsageError } from './command.ts';
import { idOf } from './database.ts';
import { printable, time } from './output.ts';

/** Options of commands that work on one queue, which alerts and logs call by its name. */
export const OF_QUEUE = {
  account: { value: 'ID', help: 'the account of the queue, if queues of several accounts have the name' },
} as const;

/** Candidates that an error lists. */
const MAX_CANDIDATES = 20;

/**
 * Returns the queue with an id, or with a name. Of a name that only deleted queues have, it is the last one.
 * @param account id of the account in which the name is looked for; undefined for all
 * @throws UsageError if there is none, or if several accounts have a queue with the name
 */
export async function queueOf(db: Database, text: string, account: string | undefined): Promise<ShownQueue> {
  const accountId = account === undefined ? null : idOf(account, 'account');
  const byId = isId(text) ? await findQueue(db, text) : null;
  if (byId !== null && (accountId === null || byId.queue.accountId === accountId)) return byId;
  const named = await queuesNamed(db, text, accountId, MAX_CANDIDATES);
  const owners = new Set(named.map((one) => one.accountId));
  if (owners.size > 1) throw new UsageError(severalQueues(text, named));
  const shown = named[0] === undefined ? null : await findQueue(db, named[0].id);
  if (shown === null) throw new CommandError(noQueue(text, accountId));
  return shown;
}

function severalQueues(name: string, candidates: readonly NamedQueue[]): string {
  const lines = candidates.map(
    ({ id, accountId, accountName, deletedAt }) =>
      `  --account ${accountId}  ${printable(accountName)}: queue ${id}${deletedAt === null ? '' : `, deleted at ${time(deletedAt)}`}`,
  );
  const more = candidates.length < MAX_CANDIDATES ? [] : ['  …'];
  return [`queues of several accounts have the name ${printable(name)}: add one of`, ...lines, ...more].join('\n');
}

/** Accounts that an error names. */
const MAX_ACCOUNTS = 5;

/** @throws UsageError if queues that deliver to the receiver are of several accounts: none of them was asked for */
export async function assertOneAccount(
  db: Database,
  receiver: string,
  queues: readonly { accountId: string }[],
): Promise<void> {
  const owners = new Map<string, number>();
  for (const { accountId } of queues) owners.set(accountId, (owners.get(accountId) ?? 0) + 1);
  if (owners.size < 2) return;
  const named = [...owners].slice(0, MAX_ACCOUNTS).map(async ([id, count]) => {
    const name = printable((await findAccount(db, id))?.name ?? '');
    return `  --account ${id}  ${name}: ${count === 1 ? '1 queue' : `${count} queues`}`;
  });
  const others = owners.size - MAX_ACCOUNTS;
  const more = others <= 0 ? [] : [others === 1 ? '  and 1 other' : `  and ${others} others`];
  const head = `queues of several accounts deliver to ${printable(receiver.trim())}: add one of`;
  throw new UsageError([head, ...(await Promise.all(named)), ...more].join('\n'));
}

function noQueue(text: string, accountId: string | null): string {
  const where = accountId === null ? '' : ` in account ${accountId}`;
  if (isId(text)) return `queue ${text} does not exist${where}`;
  return `queue ${printable(text)} does not exist${where}: give its id or its whole name, or search with: queue list --name TEXT`;
}

/** Whether a worker of this database sent a heartbeat in the last half minute. */
export async function isWorkerRunning(db: Database): Promise<boolean> {
  return hasWorker(await processFacts(db));
}

export const NO_WORKER = 'No worker is running: nothing is delivered';
