import { QUEUE_SETTINGS, SETTING_NAMES, type SettingName } from '../../../../src/domain/queue-settings.ts';
import type { CallOptions } from '../calls.ts';
import type { Queue } from '../models.ts';
import { type Ask, ERROR, FIELDS } from './ask.ts';
import type { Operation } from './document.ts';

/** Creates queues over GraphQL: REST takes no secret, no tags and no queue to copy. */

/** Result of `queues.createTagged`. */
export interface NewQueue {
  /** The queue. */
  queue: Queue;
  /** Signs the deliveries. No later answer contains it. */
  signingSecret: string;
  /** Why all deliveries will be refused; null if nothing is known against the address of the webhook. */
  warning: string | null;
}

/** One request: if a second one were needed for the queue, its failure would lose the secret. @internal */
export async function createQueue(
  ask: Ask,
  call: string,
  settings: object,
  { signal }: CallOptions = {},
): Promise<NewQueue> {
  const created = await ask.result(call, CREATE, { input: mapEnums(settings, 'toUpperCase') }, { signal });
  const { addressWarning: warning, ...queue } = created.queue;
  return { queue: mapEnums(queue, 'toLowerCase') as Queue, signingSecret: created.signingSecret, warning };
}

/** GraphQL has the names of enumerations in capitals. */
export function mapEnums(settings: object, change: 'toUpperCase' | 'toLowerCase'): object {
  const isEnum = (name: string) =>
    Object.hasOwn(QUEUE_SETTINGS, name) && QUEUE_SETTINGS[name as SettingName].kind === 'choice';
  const given = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([name, value]) => [name, isEnum(name) && typeof value === 'string' ? value[change]() : value]),
  );
}

interface Created {
  signingSecret: string;
  queue: Queue & { addressWarning: string | null };
}

/** Its type is written here, because the compiler does not know the names of a joined list. */
const CREATE = `mutation ($input: CreateQueueInput!) { result: createQueue(input: $input) {
  ${ERROR} ${FIELDS} ... on CreateQueuePayload { signingSecret queue {
    id name webhookUrl ${SETTING_NAMES.join(' ')} createdAt addressWarning } } } }` as unknown as Operation<
  { result: Created },
  { input: object }
>;
