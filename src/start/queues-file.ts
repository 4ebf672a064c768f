import { readFile } from 'node:fs/promises';
import { listAccounts } from '../db/operator/accounts.ts';
import { applyTo, type Change, changesTo, type QueueStore, QueuesFileError } from '../declared/apply.ts';
import type { Account } from '../domain/account.ts';
import { OPERATOR } from '../domain/audit.ts';
import type { CreateQueueInput } from '../services/queues/manage.ts';
import type { Services } from '../services/services.ts';
import type { Foundations } from './foundations.ts';

/**
 * Gives the first account the queues of QUEUES_FILE. Secrets of queues that are created are not logged: the file names a variable
 * for each that a receiver has to know.
 * @throws QueuesFileError, which ends the start: a process must not run with half of its queues
 */
export async function applyQueuesFile(
  { config: { queuesFile: name }, log, database: { db } }: Foundations,
  { queues }: Pick<Services, 'queues'>,
): Promise<void> {
  if (name === null) return;
  const text = await readFile(name, 'utf8').catch((error: unknown) => {
    throw new QueuesFileError(`QUEUES_FILE cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  });
  // Loaded only here: few processes have such a file.
  const { readQueuesFile } = await import('../declared/queues-file.ts');
  const declared = readQueuesFile({ name, text, variables: process.env });
  const [first] = await listAccounts(db, { limit: 1, after: null });
  if (first === undefined) throw new QueuesFileError('QUEUES_FILE: there is no account yet');
  const account: Account = { id: first.id, name: first.name, plan: first.plan, actor: OPERATOR };
  const store: QueueStore = {
    list: () => queues.list(account),
    // The file has no member that is undefined, which is all that the types differ in.
    create: async (queue) => (await queues.create(account, queue as CreateQueueInput)).signingSecret,
    update: (id, settings) => queues.update(account, id, settings as Partial<CreateQueueInput>),
  };
  for (const wanted of declared) {
    const change = await applyOne(store, wanted).catch((error: unknown) => {
      throw new QueuesFileError(
        `${name}: queue ${wanted.name}: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
    if (change.kind !== 'none') log.info({ queue: wanted.name, change }, 'a queue of QUEUES_FILE was applied');
  }
}

/** Several processes may start at once: a queue that another one has created meanwhile is compared. */
async function applyOne(store: QueueStore, wanted: Parameters<typeof applyTo>[2]): Promise<Change> {
  const apply = async (): Promise<Change> => {
    const present = await store.list();
    const [change] = changesTo(present, [wanted]);
    await applyTo(store, present, wanted);
    return change as Change;
  };
  return apply().catch(async (error: unknown) => {
    const isThere = (await store.list()).some(({ name }) => name === wanted.name);
    if (!isThere) throw error;
    return apply();
  });
}
