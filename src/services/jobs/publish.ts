import type { Cipher } from '../../db/connection/cipher.ts';
import { publishAudited } from '../../db/delivery/publish.ts';
import type { ExistingJob, PublishAnswer, PublishItem } from '../../db/delivery/publish-items.ts';
import { type Account, assertNotSuspended, authorOf } from '../../domain/account.ts';
import { JobferryError, notFound, unavailable } from '../../domain/errors.ts';
import { isId } from '../../domain/id.ts';
import type { PublishedJob } from '../../domain/job.ts';
import { Batcher } from '../../pacing/batcher.ts';
import { counts } from '../../telemetry/counts/counts.ts';
import type { TracedPublish } from '../../telemetry/tracing/tracing.ts';
import { type Context, limitReached, planOf } from '../context.ts';
import { ClaimingPublish } from './claiming-publish.ts';

export interface PublishInput {
  /** JSON source text of the payload, already checked to be an object (D26). */
  payload: string;
  idempotencyKey?: string | undefined;
  /** Seconds until the first delivery; none when left out. */
  delay?: number | undefined;
  /** Trace context of the request; null or undefined without one. */
  trace?: string | null | undefined;
  /** Milliseconds that the client has already waited for this process; none when left out. */
  waitedMs?: number | undefined;
}

/** An input with the name of its queue. */
export type Given = PublishInput & { queueName: string };

export interface Published {
  created: boolean;
  /** Whether the job is an earlier one, with another payload. False if that cannot be found out: its key is missing. */
  payloadDiffers: boolean;
  job: PublishedJob;
}

export type Publishing = ReturnType<typeof createPublish>;

const MIB = 1024 * 1024;
/** Payloads of more characters are written in statements of their own. */
const LARGE = 32 * 1024;
/** Within 5 s a client must know that the database is gone (I-37). */
const DEADLINE_MS = 4500;
/** Jobs that are due later than this need no notification: their durable wake-up fires in time (`jobferry_wake`). */
const WAKE_UP_LEAD_MS = 2500;
/** Each round means that another publish with the same key came first and its job was then gone; even one is rare. */
const MAX_ROUNDS = 5;
const ID_AS_NAME = 'queue not found: a publish takes the name of the queue, not its id';
const RACE = 'too many publishes race for this idempotency key';
/** Limit of the cached names of queues that encrypt their payloads. */
const MAX_ENCRYPTING = 10_000;

export function createPublish(context: Context) {
  const createBatcher = () =>
    new Batcher<PublishItem, PublishAnswer>((items) => counted(items, publishing.publish(items)), {
      maxItems: 200,
      // Publishes of all accounts wait for a running statement, so it must be short.
      maxBytes: MIB,
      sizeOf: (item) => item.payload.length,
      maxWaiting: { items: 5000, bytes: 64 * MIB },
      maxWaitingOfOne: { items: 2500, bytes: 32 * MIB },
      patience: { calmMs: 3500, busyMs: 500 },
      deadlineMs: DEADLINE_MS,
    });
  const publishing = new ClaimingPublish(context);
  // A mebibyte takes the database ten times as long as a hundred small payloads, so small ones do not wait for large
  // ones.
  const [small, large] = [createBatcher(), createBatcher()];

  // The statement that stores the job knows whether the queue encrypts. If the item has the wrong form, it returns
  // `must_encrypt` or `must_not_encrypt`, and the item is sent again. So a queue that encrypts sometimes costs a second
  // round, other queues cost nothing.
  const encrypting = new Map<string, string>();

  const traced = (account: Account, { queueName, trace = null }: Given): TracedPublish =>
    context.tracing?.startPublish(account, queueName, trace) ?? { work: null, trace };

  const itemOf = (account: Account, input: Given, { trace }: TracedPublish): PublishItem => ({
    accountId: account.id,
    queue: input.queueName,
    payload: input.payload,
    key: input.idempotencyKey ?? null,
    delayMs: Math.round((input.delay ?? 0) * 1000),
    limit: planOf(context, account).monthlyAttempts,
    trace,
  });
  const placeOf = ({ accountId, queue }: PublishItem) => `${accountId}/${queue}`;
  const inForm = (plain: PublishItem) => encryptedItem(context.db.cipher, plain, encrypting.get(placeOf(plain)));

  /** @returns null when the item has to be sent again @throws JobferryError `not_found`, `limit_reached` */
  const resultOf = (account: Account, plain: PublishItem, answer: PublishAnswer): Published | null => {
    switch (answer.outcome) {
      case 'queue_not_found':
        throw isId(plain.queue) ? new JobferryError('not_found', ID_AS_NAME) : notFound('queue');
      case 'limit_reached':
        throw limitReached(planOf(context, account));
      case 'retry':
        return null;
      case 'must_encrypt':
        if (encrypting.size >= MAX_ENCRYPTING) encrypting.clear();
        encrypting.set(placeOf(plain), answer.queueId);
        return null;
      case 'must_not_encrypt':
        encrypting.delete(placeOf(plain));
        return null;
      case 'created':
      case 'existing': {
        const created = answer.outcome === 'created';
        const payloadDiffers = answer.outcome === 'existing' && differs(context.db.cipher, plain, answer);
        const { id, status, createdAt, queueId } = answer;
        if (answer.outcome === 'created') {
          // The durable wake-up of a job that is due later fires in time.
          if (!answer.isClaimed && plain.delayMs < WAKE_UP_LEAD_MS) context.wake(queueId, 'job');
          context.changes.changed({ accountId: account.id, queueId, jobId: id });
        }
        return { created, payloadDiffers, job: { id, status, createdAt: new Date(createdAt) } };
      }
    }
  };

  const publishOne = async (account: Account, plain: PublishItem, waitedMs = 0): Promise<Published> => {
    assertNotSuspended(account);
    // One deadline for all rounds and what came before them, because the client waits for all of it.
    const giveUpAt = performance.now() + DEADLINE_MS - waitedMs;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const item = inForm(plain);
      const batcher = item.payload.length > LARGE ? large : small;
      const answer = await batcher.add(account.id, item, giveUpAt - performance.now());
      const result = resultOf(account, plain, answer);
      if (result !== null) return result;
    }
    throw unavailable(RACE, 'nothing');
  };

  return {
    /**
     * Publishes a job; resolves after the commit, so a 201 means that the job is stored.
     * @returns the job; `created` is false when the idempotency key matched an earlier job, which is returned instead
     * @throws JobferryError `not_found` (queue), `limit_reached`, `forbidden` (suspended account), `unavailable`
     */
    async publish(account: Account, queueName: string, input: PublishInput): Promise<Published> {
      const given = { ...input, queueName };
      const span = traced(account, given);
      const publishing = publishOne(account, itemOf(account, given, span), given.waitedMs);
      return span.work === null ? publishing : span.work.until(publishing, attributesOf);
    },

    /**
     * Publishes jobs of a person together, with an entry for each queue in the audit log, in one commit. Items that
     * have to be sent again are in a commit of their own.
     * @returns the job or the refusal of each input
     * @throws JobferryError `forbidden` (suspended account), `unavailable`
     */
    async publishAudited(account: Account, inputs: readonly Given[]): Promise<(Published | Error)[]> {
      const { db, periods } = context;
      const spans = inputs.map((input) => traced(account, input));
      const plain = inputs.map((input, n) => itemOf(account, input, spans[n] as TracedPublish));
      const results = plain.map((): Published | Error => unavailable(RACE, 'nothing'));
      const single = inputs.length === 1;
      const send = async (items: PublishItem[]) => {
        assertNotSuspended(account);
        return db.changingTurns.run(account.id, () =>
          counted(items, publishAudited(db, authorOf(account), items, { periods, single })),
        );
      };
      let open = [...plain.entries()];
      for (let round = 0; round < MAX_ROUNDS && open.length > 0; round += 1) {
        const items = open.map(([, item]) => inForm(item));
        const answers = await send(items).catch((error: Error) => {
          // Some jobs are stored by now, so the call has not failed.
          if (round > 0) return error;
          for (const { work } of spans) work?.end(error);
          throw error;
        });
        open = open.filter(([n, item], index) => {
          const result = orError(() => {
            if (answers instanceof Error) throw answers;
            return resultOf(account, item, answers[index] as PublishAnswer);
          });
          if (result !== null) results[n] = result;
          return result === null;
        });
      }
      for (const [n, result] of results.entries()) {
        spans[n]?.work?.end(result instanceof Error ? result : attributesOf(result));
      }
      return results;
    },
  };
}

/** Attributes of the span of a publish. */
function attributesOf({ created, job }: Published) {
  return { 'messaging.message.id': job.id, 'jobferry.created': created };
}

/** Counts a batch when it is committed: jobs are also stored if their clients have stopped waiting. */
async function counted(items: readonly PublishItem[], publishing: Promise<PublishAnswer[]>): Promise<PublishAnswer[]> {
  const startedAt = performance.now();
  try {
    const answers = await publishing;
    counts.publishes.done('ok', startedAt, items.length);
    for (const answer of answers) {
      if (answer.outcome === 'created' || answer.outcome === 'existing') {
        counts.published(answer.queueId, answer.outcome);
      }
    }
    return answers;
  } catch (error) {
    counts.publishes.done('error', startedAt, items.length);
    throw error;
  }
}

function orError<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** Compares source texts (D26), and decrypts the stored one first. */
function differs(cipher: Cipher, plain: PublishItem, { differs, stored, queueId }: ExistingJob): boolean {
  if (stored === null) return differs === true;
  try {
    return cipher.decrypt(`payload:${queueId}`, stored) !== plain.payload;
  } catch {
    return false;
  }
}

function encryptedItem(cipher: Cipher, item: PublishItem, queueId: string | undefined): PublishItem {
  if (queueId === undefined) return item;
  if (cipher.keyId === null) {
    // A process without a key does not start while a queue encrypts, so the queue began to encrypt after this process
    // started.
    throw unavailable('the queue encrypts payloads, and this process has no ENCRYPTION_KEY', 'nothing');
  }
  return { ...item, payload: cipher.encrypt(`payload:${queueId}`, item.payload), encryptedFor: queueId };
}
