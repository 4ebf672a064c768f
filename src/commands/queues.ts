import { findAccount } from '../db/operator/accounts.ts';
import {
  findQueue,
  listQueues,
  MAX_COUNTED,
  type QueueJobs,
  type QueueSummary,
  type ShownQueue,
} from '../db/operator/queues.ts';
import { endHold, resumeQueue } from '../db/queues/operations.ts';
import { OPERATOR } from '../domain/audit.ts';
import { command, UsageError } from './command.ts';
import { found, idOf, nextPage, PAGE, pageOf, withDatabase } from './database.ts';
import { type Column, facts, table, time } from './output.ts';

const ID = { name: 'ID', what: 'the id of the queue' };

const COLUMNS: readonly Column<QueueSummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'ACCOUNT', of: ({ accountId }) => accountId },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'STATE', of: stateOf },
  { title: 'IN FLIGHT', of: ({ inFlight, concurrency }) => `${inFlight}/${concurrency}`, isNumber: true },
  { title: 'OLDEST DUE', of: ({ oldestDueAt }) => oldestDueAt },
];

const list = command({
  name: 'queue list',
  summary: 'List live queues, oldest first, with what stops them.',
  options: { account: { value: 'ID', help: 'only those of this account' }, ...PAGE },
  run: ({ options }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const page = pageOf(options);
      const account = options.account === undefined ? null : idOf(options.account, 'account');
      const queues = await listQueues(db, account, page);
      return { json: queues, text: table(COLUMNS, queues, 'No queues.') + nextPage(queues, page) };
    }),
});

const show = command({
  name: 'queue show',
  summary: 'Show a queue: its settings, its jobs, and what stops it.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'queue');
      const shown = found(await findQueue(db, id), 'queue', id);
      return { json: shown, text: describe(shown) };
    }),
});

const resume = command({
  name: 'queue resume',
  summary: 'End the pause of a queue. Its waiting jobs get their full delivery lifetime again.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }, { jobLifetimeMs }) => {
      const { id, by, name } = await liveQueue(db, argument);
      const account = await findAccount(db, by.accountId);
      if (account?.suspendedAt != null)
        throw new UsageError(`account ${by.accountId} is suspended, so its queues stay paused: use account resume`);
      const changed = await resumeQueue(db, by, id, jobLifetimeMs);
      return { json: { id, changed }, text: changed ? `Queue ${name} is resumed.` : `Queue ${name} is not paused.` };
    }),
});

const releaseHold = command({
  name: 'queue release-hold',
  summary: 'End the hold of a queue. Up to 1000 of its held jobs become due at once.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const { id, by, name } = await liveQueue(db, argument);
      const changed = await endHold(db, by, id);
      return {
        json: { id, changed },
        text: changed ? `The hold of queue ${name} has ended.` : `Queue ${name} is not held.`,
      };
    }),
});

/** @throws UsageError */
async function liveQueue(db: Parameters<typeof findQueue>[0], argument: string) {
  const id = idOf(argument, 'queue');
  const { queue } = found(await findQueue(db, id), 'queue', id);
  if (queue.deletedAt !== null) throw new UsageError(`queue ${id} was deleted at ${time(queue.deletedAt)}`);
  return { id, name: queue.name, by: { accountId: queue.accountId, actor: OPERATOR } };
}

function stateOf({ pausedAt, holdUntil }: Pick<QueueSummary, 'pausedAt' | 'holdUntil'>): string {
  if (pausedAt !== null) return 'paused';
  return holdUntil === null ? 'running' : `held until ${time(holdUntil)}`;
}

function describe({ queue, now, oldestDueAt, ...jobs }: ShownQueue): string {
  const count = (name: keyof QueueJobs) => (jobs[name] > MAX_COUNTED ? `more than ${MAX_COUNTED}` : jobs[name]);
  const isHeld = queue.holdUntil !== null && (queue.holdUntil > now || queue.probeJobId !== null);
  const { rateLimitMax, rateLimitWindow } = queue;
  return facts([
    ['id', queue.id],
    ['name', queue.name],
    ['account', queue.accountId],
    ['webhook', queue.webhookUrl],
    ['mode', queue.mode],
    ['state', queue.deletedAt === null ? stateOf({ ...queue, holdUntil: isHeld ? queue.holdUntil : null }) : 'deleted'],
    ['paused since', queue.pausedAt ?? undefined],
    ['paused by', queue.pausedBy ?? undefined],
    ['held since', isHeld ? queue.holdSince : undefined],
    ['held by job', isHeld ? queue.holdJobId : undefined],
    ['reason of the hold', isHeld ? queue.holdReason : undefined],
    ['probe in flight', isHeld ? queue.probeJobId : undefined],
    ['due', count('due')],
    ['oldest due', oldestDueAt],
    ['waiting for later', count('later')],
    ['in flight', `${count('inFlight')} of ${queue.concurrency}`],
    ['dead', count('dead')],
    ['rate limit', rateLimitMax === null ? null : `${rateLimitMax} in ${rateLimitWindow} s`],
    ['attempts of a job', queue.maxAttempts],
    ['back-off', `${queue.backoffType}, ${queue.backoffDelay} s`],
    ['payloads encrypted', queue.payloadsEncrypted],
    ['created', queue.createdAt],
  ]);
}

export const QUEUE_COMMANDS = [list, show, resume, releaseHold];
