import { readFile } from 'node:fs/promises';
import type { QueueDeclaration } from '../../../packages/client/src/verbs/queues.ts';
import {
  type Applied,
  applyTo,
  type Change,
  changesTo,
  type QueueStore,
  QueuesFileError,
} from '../../cli/declared/apply.ts';
import { listAccounts } from '../../db/operator/accounts.ts';
import type { Account } from '../../domain/account.ts';
import { OPERATOR } from '../../domain/audit.ts';
import type { CreateQueueInput } from '../../services/queues/manage.ts';
import type { Services } from '../../services/services.ts';
import { WITHHELD } from '../variables.ts';
import type { Foundations } from './foundations.ts';

/**
 * Reads QUEUES_FILE. To be called first: a file with a mistake must end the start before anything is claimed.
 * @returns no queues without the variable
 * @throws QueuesFileError
 */
export async function readDeclaredQueues(name: string | null): Promise<QueueDeclaration[]> {
  if (name === null) return [];
  const text = await readFile(name, 'utf8').catch((error: unknown) => {
    throw new QueuesFileError(`QUEUES_FILE cannot be read: ${messageOf(error)}`);
  });
  // Loaded only here: few processes have such a file.
  const { readQueuesFile } = await import('../../cli/declared/queues-file.ts');
  return readQueuesFile({ name, text, variables: process.env, secrets: WITHHELD }).queues;
}

/**
 * Gives the first account its declared queues. A refusal, such as that of a plan, is logged, and does not end the
 * start: the process also serves other accounts.
 */
export async function applyDeclaredQueues(
  { declared, log, database: { db } }: Foundations,
  { queues }: Pick<Services, 'queues'>,
): Promise<void> {
  if (declared.length === 0) return;
  const [first] = await listAccounts(db, { limit: 1, after: null });
  if (first === undefined) return log.error('QUEUES_FILE was not applied: there is no account');
  const account: Account = { id: first.id, name: first.name, plan: first.plan, actor: OPERATOR };
  const store: QueueStore = {
    list: async () => {
      const [all, tags] = await Promise.all([queues.list(account), queues.tags(account)]);
      return all.map((queue) => ({ ...queue, tags: tags.get(queue.id) }));
    },
    // The file has no member that is undefined, which is all that the types differ in.
    create: async (queue) => {
      const { signingSecret, webhookUrl } = await queues.create(account, queue as CreateQueueInput);
      return { outcome: 'created', signingSecret, warning: queues.addressWarning(webhookUrl) };
    },
    update: async ({ id }, settings) => {
      const { webhookUrl } = await queues.update(account, id, settings as Partial<CreateQueueInput>);
      return { warning: queues.addressWarning(webhookUrl) };
    },
  };
  for (const wanted of declared) {
    const queue = wanted.name;
    await applyOne(store, wanted).then(
      ({ kind, settings, warning }) => {
        // Without values: a URL may have a secret.
        const names = settings.map(({ name }) => name);
        if (kind !== 'none') log.info({ queue, kind, settings: names }, 'a queue of QUEUES_FILE was applied');
        if (warning !== null) log.warn({ queue, warning }, 'a queue of QUEUES_FILE has an address that is not allowed');
      },
      (error: unknown) => log.error({ queue, reason: messageOf(error) }, 'a queue of QUEUES_FILE could not be applied'),
    );
  }
}

/** Several processes may start at once: a queue that another one has created meanwhile is compared. */
async function applyOne(store: QueueStore, wanted: QueueDeclaration): Promise<Change & Pick<Applied, 'warning'>> {
  const apply = async () => {
    const present = await store.list();
    const [change] = changesTo(present, [wanted]);
    const { warning } = await applyTo(store, present, wanted);
    return { ...(change as Change), warning };
  };
  return apply().catch(async (error: unknown) => {
    const isThere = (await store.list()).some(({ name }) => name === wanted.name);
    if (!isThere) throw error;
    return apply();
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
