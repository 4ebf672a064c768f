import type { QueueUpdateInput } from '../../../packages/client/src/models.ts';
import { differences, type QueueDeclaration } from '../../../packages/client/src/verbs/queues.ts';

/** A file that cannot be applied. The message has a line for each mistake, with its place. */
export class QueuesFileError extends Error {
  override readonly name = 'QueuesFileError';
}

/** A queue that there is, with its settings under the names of the contract. */
interface PresentQueue {
  readonly id: string;
  readonly name: string;
  readonly tags?: readonly string[] | undefined;
}

/** The settings of a change. */
export type Settings = QueueUpdateInput & Pick<QueueDeclaration, 'tags'>;

/** Where queues are: behind the API for a command, in this process at the start of the service. */
export interface QueueStore {
  list(): Promise<readonly PresentQueue[]>;
  /** Creates a queue, unless another process has created it meanwhile: then the outcome is another one. */
  create(queue: QueueDeclaration): Promise<{ outcome: string; signingSecret: string | null; warning: string | null }>;
  update(queue: PresentQueue, settings: Settings): Promise<{ warning: string | null }>;
}

/** The change that makes a queue as it is declared. */
export interface Change {
  queue: string;
  kind: 'create' | 'update' | 'none';
  /** The settings that differ, for an update. */
  settings: { name: string; from: unknown; to: unknown }[];
}

/** The members of a declared queue as the file has them, with the names of variables in place of their values. */
export type Written = Readonly<Record<string, unknown>>;

/** Compares declared queues with those that there are. Queues that are not declared are left alone. */
export function changesTo(
  present: readonly PresentQueue[],
  declared: readonly QueueDeclaration[],
  written: readonly Written[] = [],
): Change[] {
  return declared.map((wanted, at) => {
    const queue = present.find(({ name }) => name === wanted.name);
    if (queue === undefined) return { queue: wanted.name, kind: 'create', settings: [] };
    const settings = Object.entries(differences(queue, settingsOf(wanted))).map(([name, to]) => {
      const from = (queue as unknown as Record<string, unknown>)[name];
      const text = written[at]?.[name];
      return { name, from: shown(presentBeside(text, from)), to: shown(text ?? to) };
    });
    return { queue: wanted.name, kind: settings.length > 0 ? 'update' : 'none', settings };
  });
}

/**
 * Where the file has a variable, the present value is most likely that of the variable at an earlier run,
 * such as a token.
 */
function presentBeside(written: unknown, present: unknown): unknown {
  if (typeof written !== 'string' || typeof present !== 'string') return present;
  const variableAt = written.search(/\$\{\w+\}/);
  if (variableAt < 0) return present;
  let at = 0;
  while (at < variableAt && written[at] === present[at]) at += 1;
  return `${present.slice(0, at)}…`;
}

/** The query of a URL may be a secret of the environment, and changes are printed and logged. */
function shown(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/\?.*$/s, '?…') : value;
}

/** The result for one queue. */
export interface Applied {
  /** Its signing secret if Jobferry made one, null otherwise. */
  secret: string | null;
  /** Whether another process has created it since the queues were listed. */
  isOfAnother: boolean;
  /** Why all its deliveries will be refused; null if nothing is known, or if it was not changed. */
  warning: string | null;
}

/** Makes one queue as it is declared. */
export async function applyTo(
  store: QueueStore,
  present: readonly PresentQueue[],
  wanted: QueueDeclaration,
): Promise<Applied> {
  const queue = present.find(({ name }) => name === wanted.name);
  if (queue === undefined) {
    const { outcome, signingSecret, warning } = await store.create(wanted);
    const secret = wanted.signingSecret === undefined ? signingSecret : null;
    return { secret, isOfAnother: outcome !== 'created', warning };
  }
  const settings = differences(queue, settingsOf(wanted));
  const isChanged = Object.keys(settings).length > 0;
  const { warning } = isChanged ? await store.update(queue, settings) : { warning: null };
  return { secret: null, isOfAnother: false, warning };
}

/** The others are for the creation only. */
function settingsOf({ template: _template, signingSecret: _secret, ...settings }: QueueDeclaration): Settings {
  return settings;
}
