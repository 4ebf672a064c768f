import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { keyIdOf } from '../../src/db/connection/cipher.ts';
import type { ClaimedJob } from '../../src/db/delivery/claim.ts';
import { publish as publishItems } from '../../src/db/delivery/publish.ts';
import { settle } from '../../src/db/delivery/settle.ts';
import type { Sender } from '../../src/delivery/send.ts';
import type { Account } from '../../src/domain/account.ts';
import { createJobSearch } from '../../src/services/jobs/search.ts';
import { createStoredText } from '../../src/services/jobs/stored-text.ts';
import type { CreateQueueInput } from '../../src/services/queues/manage.ts';
import { deliver } from '../../src/worker/dispatch/deliver.ts';
import { thisMoment } from '../../src/worker/moment.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { LEASE_MS, PERIODS } from '../support/database-fixture.ts';
import { NEWEST_FIRST } from '../support/search-fixture.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** Payloads and answers of queues that want them encrypted (docs/decisions/0007), without any process. */

const [first, second] = [randomBytes(32), randomBytes(32)];
/** Bytes that no parser would give back as they are. */
const PAYLOAD = '{ "big":9007199254740993, "z":1e400, "a":-0, "a":"\\u0000\\ud800 secret \u00e4\u{1f511}" }';
const SLICE = { limit: 100, inverted: false };
const ANSWER = 'the answer is secret, too';

let url: string;
let op: TestServices;
/** Processes with another set of keys. */
let rotated: TestServices;
let keyless: TestServices;
let account: Account;
let names = 0;
/** Statements of `op` since the test began. */
let statements: string[];

beforeAll(async () => {
  url = (await createTestDatabase()).url;
  op = openServices(url, { encryptionKeys: [first] });
  rotated = openServices(url, { encryptionKeys: [second, first] });
  keyless = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
  const { run } = op.db;
  const noting: typeof run = (statement) => {
    // Workers are called whenever that fits.
    if (statement.name !== 'notify') statements.push(statement.name ?? statement.text);
    return run(statement);
  };
  Object.assign(op.db, { run: noting });
});

beforeEach(() => {
  statements = [];
});

function createQueue(settings: Partial<CreateQueueInput> = {}) {
  names += 1;
  const input = { name: `queue-${names}`, webhookUrl: 'http://127.0.0.1:9/', backoffDelay: 0, ...settings };
  return op.queues.create(account, input);
}

async function createEncrypting(settings: Partial<CreateQueueInput> = {}) {
  const queue = await createQueue(settings);
  await op.queues.setPayloadEncryption(account, queue.id, true);
  return queue;
}

const publish = async (queueName: string, payload = PAYLOAD, by = op) =>
  (await by.jobs.publish(account, queueName, { payload })).job.id;

interface StoredJob {
  payload: string;
  payload_key: string | null;
  answer_body: string | null;
  answers: (string | null)[] | null;
}

async function stored(id: string): Promise<StoredJob> {
  const row = await op.db.one<StoredJob & { id: string }>(
    `select payload, payload_key, answer_body,
            (select json_agg(response_body order by ordinal) from attempt where job_id = job.id) as answers
       from job where id = $1`,
    [id],
  );
  if (row === null) throw new Error('no job');
  return row;
}

/** Delivers everything that is due to a webhook that answers like this; returns what it was sent. */
async function deliverDue(queueId: string, statusCode: number, by = op, responseBody = ANSWER) {
  const sent: { body: string; secret: string }[] = [];
  const sender = {
    send: async ({ body, secret }) => {
      sent.push({ body: body.toString(), secret });
      return { answer: { kind: 'answered', statusCode, retryAfter: null }, durationMs: 1, responseBody };
    },
  } as Partial<Sender> as Sender;
  const { jobs, now } = await claimOf(by.db, queueId, 100);
  const at = { now, startedAt: thisMoment(), answeredAt: performance.now() };
  const deliveries = await Promise.all(
    jobs.map((job: ClaimedJob) => deliver(sender, job, at, { leaseMs: LEASE_MS, isHeld: () => true })),
  );
  await settle(
    by.db,
    deliveries.map(({ settlement }) => settlement),
  );
  return sent;
}

describe('a queue that encrypts its payloads', () => {
  it('stores them encrypted, and delivers and shows them byte for byte', async () => {
    const queue = await createEncrypting({ maxAttempts: 2 });
    const id = await publish(queue.name);
    const { payload, payload_key } = await stored(id);
    expect(payload).toMatch(/^enc:v1:/);
    expect(payload_key).toBe(op.db.cipher.keyId);
    expect(keyIdOf(payload)).toBe(payload_key);

    for (const statusCode of [500, 500]) {
      const [sent] = await deliverDue(queue.id, statusCode);
      expect(sent?.body).toContain(`"payload":${PAYLOAD},`);
      expect(sent?.secret).toBe(queue.signingSecret);
    }
    expect((await op.jobs.get(account, id)).payload).toBe(PAYLOAD);
    const page = { page: 1, limit: 10 };
    expect((await op.jobs.list(account, queue.id, page)).jobs).toMatchObject([{ id, payload: PAYLOAD }]);
    const { jobs: letters } = await op.deadLetters.list(account, queue.id, page);
    expect(letters).toMatchObject([{ originalJobId: id, payload: PAYLOAD }]);

    const replayed = await op.deadLetters.replay(account, queue.id, letters[0]?.id ?? '');
    expect(await stored(replayed.id)).toMatchObject({ payload, payload_key });
    expect((await deliverDue(queue.id, 200))[0]?.body).toContain(`"payload":${PAYLOAD},`);
  });

  it.each(['standard', 'ack'] as const)('stores what the webhook answers encrypted, in %s mode', async (mode) => {
    const queue = await createEncrypting({ mode });
    const id = await publish(queue.name);
    await deliverDue(queue.id, 500);
    // With the key of the payload, also by a process whose first key is another: both are needed as long.
    await deliverDue(queue.id, 200, rotated);
    if (mode === 'ack') {
      expect(keyIdOf((await stored(id)).answer_body ?? '')).toBe(op.db.cipher.keyId);
      await op.jobs.ack(account, id);
    }
    const { answers } = await stored(id);
    expect(answers?.map((answer) => keyIdOf(answer ?? ''))).toEqual([op.db.cipher.keyId, op.db.cipher.keyId]);
    const rows = [...(answers ?? []), null].map((responseBody) => ({ jobId: id, queueId: queue.id, responseBody }));
    const shown = await createStoredText(op.db).answers(account.id, rows);
    expect(shown.map(({ responseBody }) => responseBody)).toEqual([ANSWER, ANSWER, null]);
  });

  it('decides whether an answer is a cause of a death, not the text of the answer', async () => {
    const causeOf = async (queue: { id: string; name: string }) => {
      const id = await publish(queue.name);
      await deliverDue(queue.id, 500, op, 'enc:v1:0123abcd:AAAA\nout of stock');
      return op.db.one('select answer from dead_letter where job_id = $1', [id]);
    };
    expect(await causeOf(await createQueue({ maxAttempts: 1 }))).toEqual({ answer: 'enc:v<n>:<n>:aaaa' });
    expect(await causeOf(await createEncrypting({ maxAttempts: 1 }))).toEqual({ answer: null });
  });

  it('is one statement for a batch, once the process has learned of it', async () => {
    const queue = await createEncrypting();
    await publish(queue.name);
    statements = [];
    const ids = await Promise.all(Array.from({ length: 50 }, () => publish(queue.name)));
    expect(statements).toEqual(['publish']);
    for (const id of ids) expect((await stored(id)).payload_key).toBe(op.db.cipher.keyId);
  });

  it('costs other queues no statement', async () => {
    const queue = await createQueue();
    statements = [];
    await publish(queue.name);
    await deliverDue(queue.id, 200);
    expect(statements).toEqual(['publish-one', 'claim-one', 'settle-one']);
  });

  it('is not found by payload, before and after it was indexed, and suggests nothing', async () => {
    const [encrypting, plain] = [await createEncrypting(), await createQueue()];
    const queueIds = [encrypting.id, plain.id];
    for (const { name } of [encrypting, plain]) await publish(name, '{"customer":"ada"}');
    const search = createJobSearch(op.context);
    const look = async () => {
      const payload = { kind: 'test', path: 'customer', op: 'EQ', value: 'ada' } as const;
      const not = { kind: 'not', of: { ...payload, value: 'bob' } } as const;
      const values = queueIds.map((id) => search.payloadValues(account, id, 'customer', '', 10));
      return {
        found: (await search.search(account, { queueIds, payload }, NEWEST_FIRST, SLICE)).length,
        negated: (await search.search(account, { queueIds, payload: not }, NEWEST_FIRST, SLICE)).length,
        values: (await Promise.all(values)).map((found) => found.map(({ value }) => value)),
      };
    };
    const onlyThePlain = { found: 1, negated: 1, values: [[], ['ada']] };
    expect(await look()).toEqual(onlyThePlain);
    const [row] = await op.db.query<{ indexed: number }>(
      `select jobferry_index_payloads(1000, '0', '-1 s') as indexed, 1 as x`,
    );
    expect(row?.indexed).toBeGreaterThan(1);
    expect(await look()).toEqual(onlyThePlain);
  });

  it('keeps one job for one idempotency key', async () => {
    const queue = await createEncrypting();
    const input = { payload: PAYLOAD, idempotencyKey: 'once' };
    const all = await Promise.all([op, rotated, op, rotated].map((by) => by.jobs.publish(account, queue.name, input)));
    expect(new Set(all.map(({ job }) => job.id)).size).toBe(1);
    expect(all.filter(({ created }) => created)).toHaveLength(1);
    expect(all.map(({ payloadDiffers }) => payloadDiffers)).toEqual([false, false, false, false]);
    const again = await rotated.jobs.publish(account, queue.name, { payload: '{"other":1}', idempotencyKey: 'once' });
    expect(again).toMatchObject({ created: false, payloadDiffers: true });
  });

  it('gives back the stored payload of a key only if it can be the same', async () => {
    const queue = await createEncrypting();
    const large = JSON.stringify({ large: 'x'.repeat(10_000) });
    const keyed = (payload: string) =>
      op.jobs.publish(account, queue.name, { payload, idempotencyKey: payload.slice(0, 3) });
    for (const payload of ['{}', PAYLOAD, large]) {
      await keyed(payload);
      expect(await keyed(payload)).toMatchObject({ created: false, payloadDiffers: false });
    }
    const other = { accountId: account.id, queue: queue.name, delayMs: 0, limit: null };
    const answers = await publishItems(op.db, [{ ...other, payload: '{}', key: large.slice(0, 3) }], PERIODS);
    expect(answers).toMatchObject([{ outcome: 'existing', differs: true, stored: null }]);
  });
});

describe('the switch', () => {
  it('is about jobs to come, in every process at once', async () => {
    const queue = await createQueue();
    const kinds: (string | null)[] = [];
    for (const enabled of [false, true, true, false, true]) {
      await op.queues.setPayloadEncryption(account, queue.id, enabled);
      for (const by of [op, rotated]) kinds.push((await stored(await publish(queue.name, PAYLOAD, by))).payload_key);
    }
    const [one, other] = [op.db.cipher.keyId, rotated.db.cipher.keyId];
    expect(kinds).toEqual([null, null, one, other, one, other, null, null, one, other]);
    expect((await deliverDue(queue.id, 200, rotated)).map(({ body }) => body.includes(PAYLOAD))).toEqual(
      Array(5).fill(true),
    );
  });

  it('is in the audit log when it changes something', async () => {
    const queue = await createQueue();
    for (const enabled of [false, true, true, false]) await op.queues.setPayloadEncryption(account, queue.id, enabled);
    const entry = (to: boolean) => ({
      action: 'queue.encrypt_payloads',
      before: { payloadsEncrypted: !to },
      after: { payloadsEncrypted: to },
    });
    expect((await op.auditOf(queue.id)).slice(1)).toMatchObject([entry(true), entry(false)]);
  });

  it('holds for the queue and not for its name', async () => {
    const queue = await createEncrypting();
    await publish(queue.name);
    await op.queues.delete(account, queue.id);
    const plain = await createQueue({ name: queue.name });
    expect((await stored(await publish(queue.name))).payload_key).toBeNull();
    await op.queues.delete(account, plain.id);
    const next = await createEncrypting({ name: queue.name });
    const id = await publish(queue.name);
    expect((await op.jobs.get(account, id)).payload).toBe(PAYLOAD);
    expect((await deliverDue(next.id, 200))[0]?.body).toContain(PAYLOAD);
  });

  it('is another account’s as little as its queue', async () => {
    const queue = await createQueue();
    const refusal = { kind: 'not_found', message: 'queue not found' };
    await expect(op.queues.setPayloadEncryption({ ...account, id: UNKNOWN_ID }, queue.id, true)).rejects.toMatchObject(
      refusal,
    );
    for (const id of [UNKNOWN_ID, '', 'a\0b']) {
      await expect(op.queues.setPayloadEncryption(account, id, true)).rejects.toMatchObject(refusal);
    }
    expect((await stored(await publish(queue.name))).payload_key).toBeNull();
  });
});

describe('a process without the key', () => {
  it('cannot switch encryption on, only off', async () => {
    const queue = await createQueue();
    const refusal = { kind: 'invalid_request', message: expect.stringContaining('ENCRYPTION_KEY') };
    await expect(keyless.queues.setPayloadEncryption(account, queue.id, true)).rejects.toMatchObject(refusal);
    await op.queues.setPayloadEncryption(account, queue.id, true);
    await keyless.queues.setPayloadEncryption(account, queue.id, false);
    expect((await stored(await publish(queue.name))).payload_key).toBeNull();
  });

  it('stores nothing of an encrypting queue as it is', async () => {
    const queue = await createEncrypting();
    const refusal = { kind: 'unavailable', message: expect.stringContaining('ENCRYPTION_KEY') };
    for (let n = 0; n < 2; n += 1) await expect(publish(queue.name, PAYLOAD, keyless)).rejects.toMatchObject(refusal);
    expect((await op.jobs.list(account, queue.id, { page: 1, limit: 1 })).total).toBe(0);
  });

  it('shows nothing, and delivers nothing: it gives the job back at once, without an attempt', async () => {
    const queue = await createEncrypting();
    const id = await publish(queue.name);
    await expect(keyless.jobs.get(account, id)).rejects.toThrow('which ENCRYPTION_KEY does not have');
    expect(await deliverDue(queue.id, 200, keyless)).toEqual([]);
    expect(await op.jobs.get(account, id)).toMatchObject({ status: 'pending', attempts: 0, history: [] });
  });
});

it('a damaged payload keeps no other from being delivered', async () => {
  const queue = await createEncrypting();
  const [damaged, sound] = [await publish(queue.name), await publish(queue.name)];
  await op.db.query(`update job set payload = (select payload from job where id = $2) || 'A' where id = $1`, [
    damaged,
    sound,
  ]);
  expect((await deliverDue(queue.id, 200)).map(({ body }) => (JSON.parse(body) as { id: string }).id)).toEqual([sound]);
  expect(await op.jobs.get(account, sound)).toMatchObject({ status: 'completed' });
});
