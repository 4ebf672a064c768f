import { createAccount } from '../../db/accounts.ts';
import type { Database } from '../../db/connection/database.ts';
import { createPrisma } from '../../db/connection/prisma.ts';
import { type UsageByQueue, usageByQueue } from '../../db/insight/queue-usage.ts';
import { accountUsage } from '../../db/insight/usage.ts';
import {
  type AccountSummary,
  findAccount,
  listAccounts,
  setPlan,
  setRequestLimit,
  usageByMonth,
} from '../../db/operator/accounts.ts';
import { findReceipt } from '../../db/operator/deletion.ts';
import { resumeAccount, type SuspensionChange, suspendAccount } from '../../db/operator/suspension.ts';
import { giveOperatorsRole, operatorsAccountId } from '../../db/operator-account.ts';
import { OPERATOR } from '../../domain/audit.ts';
import { isMonth } from '../../domain/month.ts';
import type { PlanTable } from '../../domain/plan.ts';
import { LIMITS } from '../../domain/queue.ts';
import { isKeyName } from '../../services/accounts/keys.ts';
import { deleteAccount } from '../../services/operator/delete-account.ts';
import { CommandError, command, type Environment, UsageError } from './command.ts';
import { found, idOf, nextPage, PAGE, pageOf, settingsHere, withDatabase } from './database.ts';
import { type Column, facts, printable, table } from './output.ts';

const ID = { name: 'ID', what: 'the id of the account' };

const COLUMNS: readonly Column<AccountSummary>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'NAME', of: ({ name }) => name },
  { title: 'PLAN', of: ({ plan }) => plan },
  { title: 'STATE', of: ({ suspendedAt }) => (suspendedAt === null ? 'active' : 'suspended') },
  { title: 'QUEUES', of: ({ queues }) => queues, isNumber: true },
  { title: 'KEYS', of: ({ keys }) => keys, isNumber: true },
  { title: 'ATTEMPTS THIS MONTH', of: ({ attempts }) => attempts, isNumber: true },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
];

const list = command({
  name: 'account list',
  summary: 'List the accounts, oldest first.',
  options: PAGE,
  run: ({ options }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const page = pageOf(options);
      const accounts = await listAccounts(db, page);
      return { json: accounts, text: table(COLUMNS, accounts, 'No accounts.') + nextPage(accounts, page) };
    }),
});

const show = command({
  name: 'account show',
  summary: 'Show an account, its plan, and what it uses now.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }, { plans }) => {
      const id = idOf(argument, 'account');
      const account = found(await findAccount(db, id), 'account', id);
      const { in_flight: inFlight, concurrency } = await accountUsage(db, id);
      const limit = monthlyLimit(plans, account.plan);
      return {
        json: { ...account, monthlyAttempts: limit ?? null, inFlight, concurrency },
        text: facts([
          ['id', account.id],
          ['name', account.name],
          ['plan', limit === undefined ? `${account.plan} (not in PLANS: the strictest limits apply)` : account.plan],
          ['created', account.createdAt],
          ['suspended since', account.suspendedAt ?? undefined],
          ['suspended by', account.suspendedBy ?? undefined],
          ["operator's account", account.isOperator ? 'yes' : undefined],
          ['requests per second', account.requestsPerSecond ?? 'as REQUESTS_PER_SECOND_OF_ACCOUNT'],
          ['API keys', account.keys],
          ['queues', account.queues],
          ['attempts this month', account.attempts],
          ['attempts allowed', limit === null ? 'no limit' : limit],
          ['jobs in flight', inFlight],
          ['concurrency of its queues', concurrency],
        ]),
      };
    }),
});

const create = command({
  name: 'account create',
  summary: 'Create an account.',
  options: {
    name: { value: 'N', required: true, help: 'display name' },
    plan: { value: 'P', required: true, help: 'a plan of PLANS' },
  },
  run: ({ options: { name, plan } }, environment) => {
    assertPlan(settingsHere(environment).config.plans, plan);
    if (!isKeyName(name)) throw new UsageError(`--name must have 1 to ${LIMITS.apiKeyNameLength} characters`);
    return withDatabase(
      environment,
      async ({ db }) => {
        const account = await createAccount(createPrisma(db), { name, plan }, OPERATOR);
        return {
          json: account,
          text: facts([
            ['id', account.id],
            ['name', account.name],
            ['plan', account.plan],
          ]),
        };
      },
      { migrates: 'if empty' },
    );
  },
});

const changePlan = command({
  name: 'account set-plan',
  summary: 'Give an account another plan. Every process follows it within a second.',
  options: { plan: { value: 'P', required: true, help: 'a plan of PLANS' } },
  argument: ID,
  run: ({ argument, options: { plan } }, environment) => {
    assertPlan(settingsHere(environment).config.plans, plan);
    return withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'account');
      const before = found(await setPlan(db, OPERATOR, id, plan), 'account', id);
      return {
        json: { id, plan, before },
        text: before === plan ? `Account ${id} already has the plan ${plan}.` : `Account ${id}: ${before} → ${plan}`,
      };
    });
  },
});

const MAX_PER_SECOND = 1_000_000;

const changeLimits = command({
  name: 'account set-limits',
  summary: 'Limit the requests of one account. Every process follows it within a second.',
  options: {
    'requests-per-second': {
      value: 'N',
      required: true,
      help: 'requests to one process; "default" for REQUESTS_PER_SECOND_OF_ACCOUNT',
    },
  },
  argument: ID,
  run: ({ argument, options }, environment) => {
    const perSecond = perSecondOf(options['requests-per-second']);
    return withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'account');
      const { before } = found(await setRequestLimit(db, OPERATOR, id, perSecond), 'account', id);
      return {
        json: { id, requestsPerSecond: perSecond, before },
        text: `Account ${id}: requests per second ${before ?? 'default'} → ${perSecond ?? 'default'}`,
      };
    });
  },
});

const changeOperator = command({
  name: 'account set-operator',
  summary: "Make an account the operator's, which sees the processes and the load of all accounts.",
  options: { confirm: { value: 'NAME', required: true, help: 'the name of the account, to confirm' } },
  argument: ID,
  run: ({ argument, options: { confirm } }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'account');
      assertName(found(await findAccount(db, id), 'account', id), confirm);
      const { isSuspended, before, changed } = found(await giveOperatorsRole(db, OPERATOR, id), 'account', id);
      if (isSuspended) throw new CommandError(`account ${id} is suspended: resume it first`);
      return {
        json: { id, before: changed === 0 ? id : before },
        text:
          changed === 0
            ? `Account ${id} is already the operator's.`
            : `Account ${id} is the operator's now.${before === null ? '' : ` Before, it was ${before}.`}`,
      };
    }),
});

const usage = command({
  name: 'account usage',
  summary:
    'Show the delivery attempts of an account by month (UTC), the newest first, or those of a month by queue, the most first.',
  options: { month: { value: 'YYYY-MM', help: 'the attempts of this month by queue, of 1000 queues at most' } },
  argument: ID,
  run: ({ argument, options: { month } }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'account');
      found(await findAccount(db, id), 'account', id);
      if (month !== undefined) return usageOfMonth(await usageByQueue(db, id, monthOf(month), MAX_QUEUES));
      const months = await usageByMonth(db, id);
      const columns: Column<(typeof months)[number]>[] = [
        { title: 'MONTH', of: ({ month }) => month },
        { title: 'ATTEMPTS', of: ({ attempts }) => attempts, isNumber: true },
      ];
      return { json: months, text: table(columns, months, 'No delivery attempts yet.') };
    }),
});

const MAX_QUEUES = 1000;

function monthOf(text: string): string {
  if (!isMonth(text)) throw new UsageError('--month must be a month such as 2026-10');
  return text;
}

function usageOfMonth(usage: UsageByQueue): { json: unknown; text: string } {
  const rows = usage.queues.map((queue) => ({ ...queue, attempts: queue.succeeded + queue.failed + queue.deferred }));
  const columns: Column<(typeof rows)[number]>[] = [
    { title: 'QUEUE', of: ({ queueName }) => queueName },
    { title: 'ATTEMPTS', of: ({ attempts }) => attempts, isNumber: true },
    { title: 'SUCCEEDED', of: ({ succeeded }) => succeeded, isNumber: true },
    { title: 'FAILED', of: ({ failed }) => failed, isNumber: true },
    { title: 'DEFERRED', of: ({ deferred }) => deferred, isNumber: true },
  ];
  const until = usage.countedUntil === null ? '' : `\nCounted up to ${usage.countedUntil.toISOString()}.`;
  const others =
    usage.otherQueues === 0 ? '' : `\nOther queues: ${usage.otherQueues}. Their attempts: ${usage.otherAttempts}.`;
  const text = table(columns, rows, 'No delivery attempts in this month.');
  return { json: { ...usage, queues: rows }, text: `${text}${others}${until}` };
}

const suspend = command({
  name: 'account suspend',
  summary: 'Refuse publishes of an account within a second, and pause its queues. Reads and reports go on.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }) => {
      const id = idOf(argument, 'account');
      const done = found(await suspendAccount(db, OPERATOR, id), 'account', id);
      return { json: { id, ...done }, text: `${stateAfter(id, 'suspended', done)} Queues paused: ${done.queues}.` };
    }),
});

const resume = command({
  name: 'account resume',
  summary: 'End the suspension of an account. Its waiting jobs get their full delivery lifetime again.',
  options: {},
  argument: ID,
  run: ({ argument }, environment) =>
    withDatabase(environment, async ({ db }, { jobLifetimeMs }) => {
      const id = idOf(argument, 'account');
      if ((await findReceipt(db, id)) !== null) throw new CommandError(`account ${id} is being deleted`);
      const done = found(await resumeAccount(db, OPERATOR, id, jobLifetimeMs), 'account', id);
      return { json: { id, ...done }, text: `${stateAfter(id, 'active', done)} Queues resumed: ${done.queues}.` };
    }),
});

const remove = command({
  name: 'account delete',
  summary: 'Delete an account with everything that belongs to it, for good. If interrupted, run it again.',
  options: { confirm: { value: 'NAME', required: true, help: 'the name of the account, to confirm' } },
  argument: ID,
  run: ({ argument, options: { confirm } }, environment) =>
    withDatabase(environment, async ({ db, url }) => {
      const id = idOf(argument, 'account');
      const account = await findAccount(db, id);
      if (account !== null) assertName(account, confirm);
      if (id === (await operatorsAccountId(db)))
        throw new CommandError('this account cannot be deleted: it is the one of the operator');
      const receipt = found(
        await deleteAccount({ db, url }, OPERATOR, id, { progress: progressOf(db, id, environment) }),
        'account',
        id,
      );
      const removed = Object.entries(receipt.removed).map(([kind, rows]) => [`removed: ${kind}`, rows] as const);
      return {
        json: receipt,
        text: facts([
          ['account', receipt.accountId],
          ['name', receipt.name],
          ['requested', receipt.requestedAt],
          ['finished', receipt.finishedAt],
          ...removed,
        ]),
      };
    }),
});

const PROGRESS_MS = 5000;

/** Logs the receipt so far, every five seconds. */
function progressOf(db: Database, id: string, environment: Environment): () => Promise<void> {
  const { log } = settingsHere(environment);
  let loggedAt = performance.now();
  return async () => {
    if (performance.now() - loggedAt < PROGRESS_MS) return;
    loggedAt = performance.now();
    log.info({ removed: (await findReceipt(db, id))?.removed }, 'deleting the account');
  };
}

function perSecondOf(text: string): number | null {
  if (text === 'default') return null;
  const perSecond = Number(text);
  if (Number.isInteger(perSecond) && perSecond >= 1 && perSecond <= MAX_PER_SECOND) return perSecond;
  throw new UsageError(
    `--requests-per-second must be from 1 to ${MAX_PER_SECOND}, or default; to refuse all: account suspend`,
  );
}

function assertName({ name }: AccountSummary, confirm: string): void {
  if (name !== confirm)
    throw new UsageError(`--confirm must be the name of the account, which is "${printable(name)}"`);
}

function stateAfter(id: string, state: string, { changed }: SuspensionChange): string {
  return changed ? `Account ${id} is ${state}.` : `Account ${id} is already ${state}.`;
}

/** Returns the plan's attempts of a month; null for no limit, undefined if PLANS does not name the plan. */
function monthlyLimit(plans: PlanTable, plan: string): number | null | undefined {
  return Object.hasOwn(plans, plan) ? plans[plan]?.monthlyAttempts : undefined;
}

function assertPlan(plans: PlanTable, plan: string): void {
  if (!Object.hasOwn(plans, plan)) throw new UsageError(`--plan must be one of ${Object.keys(plans).join(', ')}`);
}

export const ACCOUNT_COMMANDS = [
  list,
  show,
  create,
  changePlan,
  changeLimits,
  changeOperator,
  suspend,
  resume,
  remove,
  usage,
];
