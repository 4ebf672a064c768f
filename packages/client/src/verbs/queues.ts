import { parsedUrl } from '../../../../src/domain/parsed-url.ts';
import type { CallOptions, RouteCalls } from '../calls.ts';
import { JobferryApiError, unwrap } from '../errors.ts';
import type { Queue, QueueCreateInput, QueueUpdateInput } from '../models.ts';
import { ACTION, type Ask, ERROR, FIELDS, type Sendable } from './ask.ts';
import { createQueue, type NewQueue } from './create-queue.ts';
import { graphql, type Operation } from './document.ts';
import { type SeveralQueuesVerbs, severalQueuesVerbs } from './several-queues.ts';
import type { ExamineOptions, PurgeOptions, RotateOptions, StartedAction } from './types.ts';

/** Result of `queues.ensure`. */
export interface EnsuredQueue {
  /** The change that was needed. */
  outcome: 'created' | 'updated' | 'unchanged';
  /** The queue as it is now. */
  queue: Queue;
  /** Signs the deliveries. Jobferry shows it once, so it is null unless the queue was created by this call. */
  signingSecret: string | null;
  /**
   * Why all deliveries will be refused; null if nothing is known against the address of the webhook,
   * or if nothing was changed.
   */
  warning: string | null;
}

/** A queue as `queues.ensure` takes it. */
export interface QueueDeclaration extends QueueCreateInput {
  /**
   * The signing secret, if the receiver has one already: 24 to 128 printable ASCII characters. It is used when the
   * queue is created; a present secret is never shown, so it cannot be compared.
   */
  signingSecret?: string | undefined;
  /** Words by which queues are grouped: at most 10, each 1 to 32 of a-z, 0-9, -, _ and the full stop. */
  tags?: readonly string[] | undefined;
}

/** When a breaker opens; at least one of both. */
export interface Breaker {
  /** Number of failed answers in a row, 2 to 1000. */
  failures?: number | undefined;
  /** Time in seconds in which all answers have failed, at least two; 1 to 3600. */
  seconds?: number | undefined;
}

/** Argument of `queues.copy`: settings that are left out are copied from the other queue. */
export type QueueCopy = Pick<QueueDeclaration, 'name'> & Partial<Omit<QueueDeclaration, 'name' | 'template'>>;

/** Result of `queues.rotateSecret`. */
export interface RotatedSecret {
  /** The next signing secret, which no later answer contains. */
  signingSecret: string;
  /** Time at which it replaces the present one. */
  takesOverAt: string;
}

/** Result of `queues.checkReceiver`. */
export interface ReceiverCheck {
  /** Status of the answer; null if there was none. */
  webhookStatusCode: number | null;
  /** Stable text of the error; null after a 2xx. */
  error: string | null;
  /** First 4 KiB of the answer; null if there was none, or if the key may not see payloads. */
  responseBody: string | null;
  /** Duration of the request in milliseconds. */
  durationMs: number;
  /** Time at which the certificate of the receiver ends; null without TLS or without an answer. */
  certificateEndsAt: string | null;
}

/** A verdict of `queues.examineReceiver`. */
export interface ReceiverFinding {
  /** The part, such as `wrong signature`. */
  name: string;
  /** The verdict. */
  status: 'FAILED' | 'OK' | 'SKIPPED' | 'WARNING';
  /** The observation. */
  text: string;
  /** A change that fixes it; null if it needs none. */
  advice: string | null;
}

/**
 * Verbs of queues that REST does not have. They name a queue by its `name`, return the result, and throw a
 * `JobferryApiError` for a refusal. The API key needs the scopes `read` and `manage`, and must not be limited to
 * queues.
 */
export interface QueueVerbs extends SeveralQueuesVerbs {
  /**
   * Creates the queue unless there is one of this name, or changes the settings that differ. Settings that are not
   * given, and the template of a queue that exists, stay as they are. So a program can call it at each start. It goes
   * over REST, so the key may be limited to queues, unless `signingSecret` or `tags` is given.
   */
  ensure(settings: QueueDeclaration, options?: CallOptions): Promise<EnsuredQueue>;
  /** Creates a queue as `create` does, and takes tags, and a signing secret that the receiver has already. */
  createTagged(settings: QueueDeclaration, options?: CallOptions): Promise<NewQueue>;
  /**
   * Creates a queue with all settings of the queue `of`, also those that REST does not have,
   * but with a name and a secret of its own.
   */
  copy(of: string, settings: QueueCopy, options?: CallOptions): Promise<EnsuredQueue>;
  /** Starts no more deliveries until `resume`. Publishes are accepted. */
  pause(name: string, options?: CallOptions): Promise<void>;
  /** Ends the pause. */
  resume(name: string, options?: CallOptions): Promise<void>;
  /** Ends a hold that the receiver asked for. */
  endHold(name: string, options?: CallOptions): Promise<void>;
  /** Cancels every pending job that was published before now. `dryRun` only counts them. */
  purge(name: string, options?: PurgeOptions): Promise<StartedAction>;
  /**
   * Creates the next signing secret, which takes over after `overlapSeconds` (a day by default; 0: at once). Until then
   * deliveries have signatures of both.
   */
  rotateSecret(name: string, options?: RotateOptions): Promise<RotatedSecret>;
  /** Lets the next signing secret take over now. */
  finishSecretRotation(name: string, options?: CallOptions): Promise<void>;
  /** Sends one signed test request to the webhook, and returns the answer. */
  checkReceiver(name: string, options?: CallOptions): Promise<ReceiverCheck>;
  /**
   * Sends up to thirty test requests to the webhook, and judges the answers. `payload` is what it takes, as JSON text.
   */
  examineReceiver(name: string, options?: ExamineOptions): Promise<ReceiverFinding[]>;
  /** Adds the headers of Standard Webhooks to deliveries, or leaves them out. */
  setStandardWebhooks(name: string, enabled: boolean, options?: CallOptions): Promise<void>;
  /** Stores payloads that are published from now on encrypted, or as they are. */
  setPayloadEncryption(name: string, enabled: boolean, options?: CallOptions): Promise<void>;
  /** Sets when the breaker of the queue opens; null removes it. */
  setBreaker(name: string, breaker: Breaker | null, options?: CallOptions): Promise<void>;
  /** Sets whether only a forced `jobferry listen` may take deliveries of the queue. */
  markProduction(name: string, production: boolean, options?: CallOptions): Promise<void>;
  /** Replaces the tags of the queue. */
  setTags(name: string, tags: readonly string[], options?: CallOptions): Promise<void>;
}

/** @internal */
export function queueVerbs(routes: RouteCalls, ask: Ask): QueueVerbs {
  /** The first request of two: mutations take ids, and names stay the same when a queue is created again. */
  const idOf = async (call: string, name: string, { signal }: CallOptions): Promise<string> => {
    const options = { signal, isRepeatable: true };
    const { queue } = await ask.document(call, ID, { name }, options);
    return queue?.id ?? NO_QUEUE;
  };
  const verb = async <Result, Variables extends { id: string }>(
    name: string,
    queue: string,
    operation: Operation<{ result: Result }, Variables>,
    values: Sendable<Omit<Variables, 'id'>>,
    options: CallOptions = {},
  ) => {
    const call = `queues.${name}(${queue})`;
    const id = await idOf(call, queue, options);
    const isRepeatable = !SENT_ONCE.includes(name);
    const timeoutMs = TRIALS.includes(name) ? TRIAL_MS : undefined;
    const variables = { id, ...values } as unknown as Sendable<Variables>;
    return ask.result(call, operation, variables, { signal: options.signal, isRepeatable, timeoutMs });
  };
  const change = async <Variables extends { id: string }>(
    ...args: Parameters<typeof verb<unknown, Variables>>
  ): Promise<void> => void (await verb(...args));

  return {
    ...severalQueuesVerbs(ask),
    ensure: (settings, options) => ensure({ routes, ask }, settings, options),
    createTagged: (settings, options) => createQueue(ask, `queues.createTagged(${settings.name})`, settings, options),
    copy: (of, settings, options) => copy(ask, of, settings, options),
    pause: (name, options) => change('pause', name, PAUSE, {}, options),
    resume: (name, options) => change('resume', name, RESUME, {}, options),
    endHold: (name, options) => change('endHold', name, END_HOLD, {}, options),
    purge: (name, { dryRun = false, ...options } = {}) => verb('purge', name, PURGE, { dryRun }, options),
    rotateSecret: (name, { overlapSeconds, ...options } = {}) =>
      verb('rotateSecret', name, ROTATE, { overlapSeconds }, options),
    finishSecretRotation: (name, options) => change('finishSecretRotation', name, FINISH_ROTATION, {}, options),
    checkReceiver: async (name, options) => (await verb('checkReceiver', name, CHECK, {}, options)).check,
    examineReceiver: async (name, { payload, ...options } = {}) =>
      (await verb('examineReceiver', name, EXAMINE, { payload }, options)).findings,
    setStandardWebhooks: (name, enabled, options) =>
      change('setStandardWebhooks', name, STANDARD_WEBHOOKS, { enabled }, options),
    setPayloadEncryption: (name, enabled, options) =>
      change('setPayloadEncryption', name, ENCRYPTION, { enabled }, options),
    setBreaker: (name, breaker, options) => change('setBreaker', name, BREAKER, { breaker }, options),
    markProduction: (name, production, options) => change('markProduction', name, PRODUCTION, { production }, options),
    setTags: (name, tags, options) => change('setTags', name, TAGS, { tags }, options),
  };
}

/** Returns why all deliveries of an accepted queue will be refused; null if nothing is known. */
export const warningIn = ({ headers }: { headers: Headers }) => headers.get('x-jobferry-warning');

/** An id that no queue has: the refusal of the mutation is that of REST. */
const NO_QUEUE = '0'.repeat(24);

/** A second request would do more than one does. */
const TRIALS = ['checkReceiver', 'examineReceiver'];
const SENT_ONCE = ['purge', 'rotateSecret', ...TRIALS];

/** A receiver may take 15 s for each of the requests, some of which follow each other. */
const TRIAL_MS = 300_000;

const ID = graphql('query ($name: String!) { queue(name: $name) { id } }');
const ORIGINAL = graphql('query ($of: String!) { queue(name: $of) { id webhookUrl } }');
const PRESENT_TAGS = graphql('query ($id: ID!) { queue(id: $id) { tags } }');
const PAUSE = graphql(`mutation ($id: ID!) { result: pauseQueue(id: $id) { ${ERROR} } }`);
const RESUME = graphql(`mutation ($id: ID!) { result: resumeQueue(id: $id) { ${ERROR} } }`);
const END_HOLD = graphql(`mutation ($id: ID!) { result: endHold(queueId: $id) { ${ERROR} } }`);
const PURGE = graphql(`mutation ($id: ID!, $dryRun: Boolean!) {
  result: purgeQueue(id: $id, dryRun: $dryRun) { ${ERROR} ... on PurgeQueuePayload { matched action { ${ACTION} } } } }`);
const ROTATE = graphql(`mutation ($id: ID!, $overlapSeconds: Float) {
  result: rotateSigningSecret(queueId: $id, overlapSeconds: $overlapSeconds) {
    ${ERROR} ${FIELDS} ... on RotateSigningSecretPayload { signingSecret takesOverAt } } }`);
const FINISH_ROTATION = graphql(`mutation ($id: ID!) { result: finishSecretRotation(queueId: $id) { ${ERROR} } }`);
const CHECK = graphql(`mutation ($id: ID!) {
  result: checkReceiver(queueId: $id) {
    ${ERROR} ... on CheckReceiverPayload { check { webhookStatusCode error responseBody durationMs certificateEndsAt } } } }`);
const EXAMINE = graphql(`mutation ($id: ID!, $payload: String) {
  result: examineReceiver(queueId: $id, payload: $payload) {
    ${ERROR} ${FIELDS} ... on ExamineReceiverPayload { findings { name status text advice } } } }`);
const STANDARD_WEBHOOKS = graphql(`mutation ($id: ID!, $enabled: Boolean!) {
  result: setStandardWebhooks(queueId: $id, enabled: $enabled) { ${ERROR} } }`);
const ENCRYPTION = graphql(`mutation ($id: ID!, $enabled: Boolean!) {
  result: setPayloadEncryption(queueId: $id, enabled: $enabled) { ${ERROR} } }`);
const BREAKER = graphql(`mutation ($id: ID!, $breaker: BreakerInput) {
  result: setBreaker(queueId: $id, breaker: $breaker) { ${ERROR} ${FIELDS} } }`);
const PRODUCTION = graphql(`mutation ($id: ID!, $production: Boolean!) {
  result: markProduction(queueId: $id, production: $production) { ${ERROR} } }`);
const TAGS = graphql(`mutation ($id: ID!, $tags: [String!]!) {
  result: updateQueue(id: $id, input: { tags: $tags }) { ${ERROR} ${FIELDS} } }`);

async function ensure(
  { routes: { queues }, ask }: { routes: RouteCalls; ask: Ask },
  { signingSecret: given, tags, ...settings }: QueueDeclaration,
  options: CallOptions = {},
): Promise<EnsuredQueue> {
  const changed = async (present: Queue) => {
    const ensured = await adjust(queues, present, settings, options);
    const isTagged = tags !== undefined && (await retag(ask, present, tags, options));
    return isTagged && ensured.outcome === 'unchanged' ? { ...ensured, outcome: 'updated' as const } : ensured;
  };
  const find = async () => (await unwrap(queues.list(options))).find(({ name }) => name === settings.name);
  const present = await find();
  if (present !== undefined) return changed(present);
  try {
    if (given !== undefined || tags !== undefined) {
      const declared = { ...settings, signingSecret: given, tags };
      const created = await createQueue(ask, `queues.ensure(${settings.name})`, declared, options);
      return { outcome: 'created', ...created };
    }
    const answer = await queues.create({ body: settings, ...options });
    const { signingSecret, ...queue } = await unwrap(answer);
    return { outcome: 'created', queue, signingSecret, warning: warningIn(answer) };
  } catch (error) {
    if (!(error instanceof JobferryApiError) || error.status !== 400) throw error;
    // Two programs may start at once.
    const other = await find();
    if (other === undefined) throw error;
    return changed(other);
  }
}

async function copy(ask: Ask, of: string, settings: QueueCopy, { signal }: CallOptions = {}): Promise<EnsuredQueue> {
  const call = `queues.copy(${of})`;
  const { queue: other } = await ask.document(call, ORIGINAL, { of }, { signal, isRepeatable: true });
  if (other === null) throw new JobferryApiError({ status: 404, body: { error: 'queue not found' } }, call);
  const input = { ...settings, webhookUrl: settings.webhookUrl ?? other.webhookUrl, copyOf: other.id };
  return { outcome: 'created', ...(await createQueue(ask, call, input, { signal })) };
}

/** @returns whether the queue had other tags */
async function retag(
  ask: Ask,
  { id, name }: Queue,
  tags: readonly string[],
  { signal }: CallOptions,
): Promise<boolean> {
  const call = `queues.ensure(${name})`;
  const options = { signal, isRepeatable: true };
  const { queue } = await ask.document(call, PRESENT_TAGS, { id }, options);
  if (queue === null || Object.keys(differences(queue, { tags })).length === 0) return false;
  await ask.result(call, TAGS, { id, tags }, options);
  return true;
}

async function adjust(
  queues: RouteCalls['queues'],
  present: Queue,
  { template: _, ...settings }: QueueCreateInput,
  options: CallOptions,
): Promise<EnsuredQueue> {
  const body = differences(present, settings);
  if (Object.keys(body).length === 0)
    return { outcome: 'unchanged', queue: present, signingSecret: null, warning: null };
  const answer = await queues.update({ params: { id: present.id }, body, ...options });
  const queue = await unwrap(answer);
  return { outcome: 'updated', queue, signingSecret: null, warning: warningIn(answer) };
}

/** Returns the settings that are not those of the queue. */
export function differences(
  present: object,
  settings: QueueUpdateInput & Pick<QueueDeclaration, 'tags'>,
): QueueUpdateInput & Pick<QueueDeclaration, 'tags'> {
  const isOther = ([name, value]: [string, unknown]) => {
    if (value === undefined) return false;
    // Tags: each counts once, in any order.
    if (Array.isArray(value))
      return [...new Set(value)].sort().join() !== String((present as Record<string, unknown>)[name] ?? '');
    // Jobferry stores the URL as it parses it, such as `http://host` with a slash at its end.
    const given = name === 'webhookUrl' ? (parsedUrl(String(value))?.href ?? value) : value;
    return given !== (present as Record<string, unknown>)[name];
  };
  return Object.fromEntries(Object.entries(settings).filter(isOther));
}
