import { isIP } from 'node:net';
import * as queues from '../../db/queues/queues.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { invalidField, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import {
  assertAccountConcurrency,
  assertPlanAllows,
  assertQueueCount,
  assertTombstones,
  type Plan,
  withinCeilings,
} from '../../domain/plan.ts';
import { type CreatedQueue, QUEUE_DEFAULTS, type Queue, type QueueSettings } from '../../domain/queue.ts';
import { type Context, planOf } from '../context.ts';
import { assertSigningSecret, generateSigningSecret } from './signing-secret.ts';

export type CreateQueueInput = Pick<QueueSettings, 'webhookUrl'> &
  Partial<QueueSettings> & {
    name: string;
    template?: string | undefined;
    /** By default a new one, made at random. */
    signingSecret?: string | undefined;
  };
type UpdateQueueInput = Partial<QueueSettings> & { name?: string | undefined };

/** @throws JobferryError `not_found`, `unavailable` */
export async function liveQueue(
  { readingPrisma }: Pick<Context, 'readingPrisma'>,
  account: Account,
  queueId: string,
): Promise<Queue> {
  const queue = isId(queueId) ? await queues.findQueue(readingPrisma.of(account.id), account.id, queueId) : null;
  if (queue === null) throw notFound('queue');
  return queue;
}

/** Reads the live queues of an account. */
export function createQueueReads({ readingPrisma, allowsAddress }: Pick<Context, 'readingPrisma' | 'allowsAddress'>) {
  return {
    /** Returns all live queues, oldest first. @throws JobferryError `unavailable` */
    async list(account: Account): Promise<Queue[]> {
      return queues.listQueues(readingPrisma.of(account.id), account.id);
    },

    /** Returns a live queue. @throws JobferryError `not_found`, `unavailable` */
    async get(account: Account, queueId: string): Promise<Queue> {
      return liveQueue({ readingPrisma }, account, queueId);
    },

    /**
     * Returns a warning in ASCII if all deliveries to this URL will be refused, because its host is an address that is not
     * public and not allowed. Null for names: where they lead is seen at each delivery only.
     */
    addressWarning(webhookUrl: string): string | null {
      const host = URL.canParse(webhookUrl) ? new URL(webhookUrl).hostname.replace(/^\[|\]$/g, '') : '';
      const isLocal = host === 'localhost' || host.endsWith('.localhost');
      if (!isLocal && isIP(host) === 0) return null;
      if (allowsAddress(isLocal ? '127.0.0.1' : host)) return null;
      return `${host.slice(-100)} is not a public address, so deliveries are refused: the operator can allow it with WEBHOOK_ALLOW_CIDRS`;
    },
  };
}

/** Changes the queues of an account. Each change is written to the audit log in the same commit. */
export function createQueueChanges(context: Context) {
  const { db, prisma } = context;
  const changed = ({ id: accountId }: Account, queueId: string) => {
    context.wake(queueId, 'change');
    context.changes.changed({ accountId, queueId });
  };
  return {
    /**
     * Creates a queue. Omitted fields get the template's value, or the default within the plan's ceilings.
     * @returns the queue with its signing secret, which is shown once
     * @throws JobferryError `invalid_fields`, `forbidden` (plan or account limit), `unavailable`
     */
    async create(account: Account, input: CreateQueueInput): Promise<CreatedQueue> {
      assertNotSuspended(account);
      const plan = planOf(context, account);
      const settings = settingsOf(context, plan, input);
      assertPlanAllows(plan, settings);
      const { signingSecret = generateSigningSecret() } = input;
      assertSigningSecret(signingSecret);
      const row = { ...settings, name: input.name, signingSecret };
      const queue = await queues.createQueue({ prisma, cipher: db.cipher }, authorOf(account), row, (others) => {
        assertNotSuspended(others);
        assertQueueCount(plan, others.count);
        assertTombstones(others.tombstones);
        assertAccountConcurrency(others.concurrency + settings.concurrency);
      });
      context.changes.changed({ accountId: account.id, queueId: queue.id });
      return { ...queue, signingSecret };
    },

    /**
     * Changes settings of a queue; omitted fields keep their values.
     * @throws JobferryError `not_found`, `invalid_fields`, `forbidden` (plan or account limit), `unavailable`
     */
    async update(account: Account, queueId: string, input: UpdateQueueInput): Promise<Queue> {
      const plan = planOf(context, account);
      const { name, ...changes } = input;
      const updated = await queues.updateQueue(
        prisma,
        authorOf(account),
        queueId,
        defined(changes),
        (present, others) => {
          // The present name is accepted, so a client can get a queue, edit it and put it back (D24).
          if (name !== undefined && name !== present.name) throw invalidField('name', 'cannot be changed');
          assertPlanAllows(plan, changes);
          if (changes.concurrency !== undefined) assertAccountConcurrency(others.concurrency + changes.concurrency);
        },
      );
      changed(account, queueId);
      return updated;
    },

    /**
     * Deletes a queue. Its pending jobs die, its dead letters are removed, and its name is free at once.
     * @throws JobferryError `not_found`, `unavailable`
     */
    async delete(account: Account, queueId: string): Promise<void> {
      if (!(await queues.deleteQueue(db, authorOf(account), queueId))) throw notFound('queue');
      changed(account, queueId);
    },
  };
}

/**
 * Explicit fields override the template's, which override the defaults (spec "Queue"). The plan's ceilings bound the
 * last two: otherwise an account whose plan allows less than a default would have to send that setting.
 */
function settingsOf(context: Context, plan: Plan, input: CreateQueueInput): QueueSettings {
  const { name: _name, template, signingSecret: _secret, ...explicit } = input;
  const prefilled = template === undefined ? {} : context.templates[template];
  if (prefilled === undefined) {
    throw invalidField('template', `must be one of ${Object.keys(context.templates).join(', ')}`);
  }
  const defaults = withinCeilings(plan, { ...QUEUE_DEFAULTS, ...prefilled });
  return { ...defaults, ...defined(explicit) } as QueueSettings;
}

/** Returns the fields that were sent: `undefined` must not overwrite a value. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
