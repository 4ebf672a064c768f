import * as queues from '../../db/queues/queues.ts';
import { invalidField, notFound } from '../../domain/errors.ts';
import {
  assertAccountConcurrency,
  assertPlanAllows,
  assertQueueCount,
  assertTombstones,
  type Plan,
  withinCeilings,
} from '../../domain/plan.ts';
import { QUEUE_DEFAULTS, type QueueSettings } from '../../domain/queue.ts';
import { type Context, planOf } from '../context.ts';
import type { Account, CreateQueueInput, Services } from '../index.ts';
import { generateSigningSecret } from './signing-secret.ts';

type ManageQueues = Pick<Services, 'listQueues' | 'createQueue' | 'getQueue' | 'updateQueue' | 'deleteQueue'>;

export function createManageQueues(context: Context): ManageQueues {
  const { db, prisma, readingPrisma } = context;
  const changed = ({ id: accountId }: Account, queueId: string) => {
    context.wake(queueId, 'change');
    context.changes.changed({ accountId, queueId });
  };
  return {
    listQueues: (account) => queues.listQueues(readingPrisma.of(account.id), account.id),

    async createQueue(account, input) {
      const plan = planOf(context, account);
      const settings = settingsOf(context, plan, input);
      assertPlanAllows(plan, settings);
      const signingSecret = generateSigningSecret();
      const row = { ...settings, name: input.name, signingSecret };
      const queue = await queues.createQueue({ prisma, box: db.box }, account, row, (others) => {
        assertQueueCount(plan, others.count);
        assertTombstones(others.tombstones);
        assertAccountConcurrency(others.concurrency + settings.concurrency);
      });
      context.changes.changed({ accountId: account.id, queueId: queue.id });
      return { ...queue, signingSecret };
    },

    async getQueue(account, queueId) {
      const queue = await queues.findQueue(readingPrisma.of(account.id), account.id, queueId);
      if (queue === null) throw notFound('queue');
      return queue;
    },

    async updateQueue(account, queueId, input) {
      const plan = planOf(context, account);
      const { name, ...changes } = input;
      const updated = await queues.updateQueue(prisma, account, queueId, defined(changes), (present, others) => {
        // The present name may be sent back, so that get, edit, put works (D24).
        if (name !== undefined && name !== present.name) throw invalidField('name', 'cannot be changed');
        assertPlanAllows(plan, changes);
        if (changes.concurrency !== undefined) assertAccountConcurrency(others.concurrency + changes.concurrency);
      });
      changed(account, queueId);
      return updated;
    },

    async deleteQueue(account, queueId) {
      if (!(await queues.deleteQueue(db, account, queueId))) throw notFound('queue');
      changed(account, queueId);
    },
  };
}

/**
 * Explicit fields over the template's over the defaults (spec "Queue"). The plan's ceilings bound the last two: otherwise
 * an account whose plan allows less than a default could create no queue without naming that setting.
 */
function settingsOf(context: Context, plan: Plan, input: CreateQueueInput): QueueSettings {
  const { name: _name, template, ...explicit } = input;
  const prefilled = template === undefined ? {} : context.templates[template];
  if (prefilled === undefined) {
    throw invalidField('template', `must be one of ${Object.keys(context.templates).join(', ')}`);
  }
  const defaults = withinCeilings(plan, { ...QUEUE_DEFAULTS, ...prefilled });
  return { ...defaults, ...defined(explicit) } as QueueSettings;
}

/** Without the fields that were not sent: `undefined` must not overwrite. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
