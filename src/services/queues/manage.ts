import { isIP } from 'node:net';
import * as queues from '../../db/queues/queues.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { invalidField, JobferryError, notFound } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import { parsedUrl } from '../../domain/parsed-url.ts';
import {
  assertAccountConcurrency,
  assertPlanAllows,
  assertQueueCount,
  assertTombstones,
  type Plan,
  withinCeilings,
} from '../../domain/plan.ts';
import { type CreatedQueue, QUEUE_DEFAULTS, type Queue, type QueueSettings } from '../../domain/queue.ts';
import { MAX_TAGGED, tagsIn, tagsOfFilter } from '../../domain/queue-tags.ts';
import { standardKeyOf } from '../../domain/standard-webhooks.ts';
import { type Context, planOf } from '../context.ts';
import { assertSigningSecret, generateSigningSecret } from './signing-secret.ts';

export type CreateQueueInput = Pick<QueueSettings, 'webhookUrl'> &
  Partial<QueueSettings> & {
    name: string;
    template?: string | undefined;
    /** By default a new one, made at random. */
    signingSecret?: string | undefined;
    tags?: readonly string[] | undefined;
    /** Id of a queue whose settings replace the defaults. */
    copyOf?: string | undefined;
  };
/** The settings of a new queue that none are given. */
export interface QueueTemplate extends Omit<QueueSettings, 'webhookUrl'> {
  /** Null for the defaults. */
  name: string | null;
}

type UpdateQueueInput = Partial<QueueSettings> & { name?: string | undefined; tags?: readonly string[] | undefined };

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
export function createQueueReads(context: Pick<Context, 'readingPrisma' | 'allowsAddress' | 'templates' | 'plans'>) {
  const { readingPrisma, allowsAddress } = context;
  return {
    /** Returns the settings that a new queue gets from the defaults, and from each template. */
    templates(account: Account): QueueTemplate[] {
      const plan = planOf(context, account);
      const defaults = { name: null, ...startOf(plan, {}) };
      const others = Object.entries(context.templates).map(([name, own]) => ({ name, ...startOf(plan, own) }));
      return [defaults, ...others];
    },

    /** Returns all live queues, oldest first. @throws JobferryError `unavailable` */
    async list(account: Account): Promise<Queue[]> {
      return queues.listQueues(readingPrisma.of(account.id), account.id);
    },

    /**
     * Returns the tags of the live queues that have some, by the id of the queue.
     * @throws JobferryError `unavailable`
     */
    async tags(account: Account): Promise<Map<string, string[]>> {
      return queues.tagsOfQueues(readingPrisma.of(account.id), account.id);
    },

    /**
     * Returns the ids of the live queues with at least one of the tags.
     * @throws JobferryError `invalid_request` (tags, or too many queues), `unavailable`
     */
    async withTags(account: Account, given: readonly string[]): Promise<string[]> {
      const which = { accountId: account.id, tags: tagsOfFilter(given), limit: MAX_TAGGED + 1 };
      const ids = await queues.queuesWithTags(readingPrisma.of(account.id), which);
      if (ids.length <= MAX_TAGGED) return ids;
      throw new JobferryError(
        'invalid_request',
        `more than ${MAX_TAGGED} queues have one of these tags: give another tag`,
      );
    },

    /** Returns a live queue. @throws JobferryError `not_found`, `unavailable` */
    async get(account: Account, queueId: string): Promise<Queue> {
      return liveQueue({ readingPrisma }, account, queueId);
    },

    /**
     * Returns a warning in ASCII if all deliveries to this URL will be refused, because its host is an address that is
     * not public and not allowed. Null for names: where they lead is seen at each delivery only.
     */
    addressWarning(webhookUrl: string): string | null {
      const host = parsedUrl(webhookUrl)?.hostname.replace(/^\[|\]$/g, '') ?? '';
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
     * Creates a queue. Omitted fields get the template's value, that of the queue that is copied, or the default within
     * the plan's ceilings.
     * @returns the queue with its signing secret, which is shown once
     * @throws JobferryError `invalid_fields`, `forbidden` (plan or account limit), `unavailable`
     */
    async create(account: Account, input: CreateQueueInput): Promise<CreatedQueue> {
      assertNotSuspended(account);
      const plan = planOf(context, account);
      const { tags, copyOf, ...given } = input;
      const { present, further } = await copied(context, account, input);
      const settings = settingsOf(context, plan, given, present);
      assertPlanAllows(plan, settings);
      const { signingSecret = generateSigningSecret() } = input;
      assertSigningSecret(signingSecret);
      if (further.standardWebhooks === true && standardKeyOf(signingSecret) === null)
        throw invalidField('signingSecret', 'must be base64, as deliveries get the headers of Standard Webhooks');
      const row = {
        ...settings,
        ...further,
        ...(tags !== undefined && { tags: tagsIn(tags) }),
        name: input.name,
        signingSecret,
      };
      const queue = await queues.createQueue({ prisma, cipher: db.cipher }, authorOf(account), row, (others) => {
        assertNotSuspended(others);
        assertQueueCount(plan, others.count);
        assertTombstones(others.tombstones);
        assertAccountConcurrency(others.concurrency + settings.concurrency);
      });
      // It is stored: after a failure the next poll finds it.
      if (copyOf !== undefined) await context.followQueues?.().catch(() => undefined);
      context.changes.changed({ accountId: account.id, queueId: queue.id });
      return { ...queue, signingSecret };
    },

    /**
     * Changes settings of a queue; omitted fields keep their values.
     * @throws JobferryError `not_found`, `invalid_fields`, `forbidden` (plan or account limit), `unavailable`
     */
    async update(account: Account, queueId: string, input: UpdateQueueInput): Promise<Queue> {
      const plan = planOf(context, account);
      const { name, tags, ...changes } = input;
      const updated = await queues.updateQueue(
        prisma,
        authorOf(account),
        queueId,
        { ...defined(changes), ...(tags !== undefined && { tags: tagsIn(tags) }) },
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
 * Explicit fields override the template's or those of the copied queue, which override the defaults (spec "Queue"). The
 * plan's ceilings bound the last two: otherwise an account whose plan allows less than a default would have to send
 * that setting.
 */
function settingsOf(
  context: Context,
  plan: Plan,
  input: CreateQueueInput,
  present: Partial<QueueSettings>,
): QueueSettings {
  const { name: _name, template, signingSecret: _secret, ...explicit } = input;
  const prefilled = template === undefined ? {} : context.templates[template];
  if (prefilled === undefined) {
    throw invalidField('template', `must be one of ${Object.keys(context.templates).join(', ')}`);
  }
  return { ...startOf(plan, { ...prefilled, ...present }), ...defined(explicit) } as QueueSettings;
}

const startOf = (plan: Plan, own: Partial<QueueSettings>) => withinCeilings(plan, { ...QUEUE_DEFAULTS, ...own });

/** Returns the settings of the queue that is copied; none without one. */
async function copied(
  context: Context,
  account: Account,
  { copyOf, template }: CreateQueueInput,
): Promise<{ present: Partial<QueueSettings>; further: Partial<queues.FurtherSettings> }> {
  if (copyOf === undefined) return { present: {}, further: {} };
  if (template !== undefined) throw invalidField('copyOf', 'cannot be given together with a template');
  const further = isId(copyOf) ? await queues.furtherSettings(context.prisma, account.id, copyOf) : null;
  const queue = further === null ? null : await queues.findQueue(context.prisma, account.id, copyOf);
  if (further === null || queue === null) throw invalidField('copyOf', 'must be the id of a live queue');
  const { id: _id, name: _name, createdAt: _createdAt, ...present } = queue;
  return { present, further };
}

/** Returns the fields that were sent: `undefined` must not overwrite a value. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
