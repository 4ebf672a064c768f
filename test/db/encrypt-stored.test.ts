import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { Cipher, keyIdOf } from '../../src/db/connection/cipher.ts';
import { Database } from '../../src/db/connection/database.ts';
import { removeInstance, reportInstance } from '../../src/db/insight/instances.ts';
import { encryptStored } from '../../src/db/queues/encrypt-stored.ts';
import type { Foundations } from '../../src/process/start/foundations.ts';
import { watchKeys } from '../../src/process/start/watches.ts';
import { claimOf } from '../support/claim.ts';
import { createTestDatabase } from '../support/database.ts';
import { PERIODS, patient } from '../support/database-fixture.ts';
import { waitFor } from '../support/wait-for.ts';

/** The step at the start that encrypts what is stored, and refuses when it lacks a key. */

const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
const idOf = (key: Uint8Array) => new Cipher([key]).keyId ?? '';

async function openDatabase() {
  const { url } = await createTestDatabase();
  const warnings: object[] = [];
  const opened: Database[] = [];
  afterAll(() => Promise.all(opened.map((db) => db.close())));
  const openWith = (...of: Uint8Array[]) => {
    const db = patient(new Database(url, { warn: (fields) => warnings.push(fields) }, new Cipher(of)));
    opened.push(db);
    return db;
  };
  const plain = openWith();
  await plain.query(`insert into account (id, name, plan) values ('a', 'test', 'pro')`);
  return {
    plain,
    openWith,
    warnings,
    /** Queues with secrets of their own; every third has a rotation in progress. */
    async createQueues(count: number): Promise<void> {
      await plain.query(
        `insert into queue (id, account_id, name, webhook_url, signing_secret, next_signing_secret, next_signing_secret_at,
                            max_attempts, max_defers, concurrency, dlq_enabled, mode, rate_limit_window, ack_timeout,
                            ack_timeout_action, backoff_type, backoff_delay, deleted_at)
         select 'q' || n, 'a', 'queue-' || n, 'http://127.0.0.1:9/', 'whsec_' || n,
                case when n % 3 = 0 then 'whsec_next_' || n end, case when n % 3 = 0 then jobferry_now() + interval '1 hour' end,
                3, 50, 5, true, 'standard', 60, 300, 'retry', 'fixed', 2, case when n % 5 = 0 then jobferry_now() end
           from generate_series(1, $1::integer) n`,
        [count],
      );
    },
    secrets: () =>
      plain.query<{ id: string; signing_secret: string; next_signing_secret: string | null }>(
        'select id, signing_secret, next_signing_secret from queue order by id',
      ),
  };
}

type Opened = Awaited<ReturnType<typeof openDatabase>>;

/** The secrets in plain text, and the ids of the keys that they are stored with. */
async function readSecrets({ secrets }: Opened, db: Database) {
  const stored = await secrets();
  const all = stored.flatMap(({ id, signing_secret, next_signing_secret }) =>
    [signing_secret, next_signing_secret].flatMap((secret) => (secret === null ? [] : [{ id, secret }])),
  );
  return {
    texts: all.map(({ id, secret }) => db.cipher.decrypt(`signing-secret:${id}`, secret)),
    keyIds: [...new Set(all.map(({ secret }) => keyIdOf(secret)))],
  };
}

describe('a new first key', () => {
  const report = (db: Database, ...of: Uint8Array[]) =>
    reportInstance(db, null, {
      role: 'worker',
      version: '1.2.3',
      inFlight: 0,
      capacity: 1,
      clockOffsetSeconds: 0,
      address: null,
      ignored: [],
      settings: { host: 'db1', pid: 1, commit: null, keys: new Cipher(of).keyIds, shared: {} },
    });

  it('encrypts nothing before every running process has it', async () => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    const without = await report(opened.plain);
    const db = opened.openWith(keys[0]);
    expect(await encryptStored(db, PERIODS)).toBe(0);
    expect([db.cipher.keyId, db.cipher.firstKeyId]).toEqual([null, new Cipher([keys[0]]).keyId]);
    expect(db.cipher.encrypt('signing-secret:q1', 'whsec_new')).toBe('whsec_new');

    await removeInstance(opened.plain, without.id);
    await report(opened.plain, keys[1], keys[0]);
    expect(await encryptStored(db, PERIODS)).toBe(3);
    expect(db.cipher.keyId).toBe(db.cipher.firstKeyId);
  });

  it('waits for a process that does not report its keys, and the key in use goes on', async () => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    await encryptStored(opened.openWith(keys[0]), PERIODS);
    const { id } = await report(opened.plain);
    await opened.plain.query('update instance set settings = null');
    const rotated = opened.openWith(keys[1], keys[0]);
    expect(await encryptStored(rotated, PERIODS)).toBe(0);
    expect(rotated.cipher.keyId).toBe(new Cipher([keys[0]]).keyId);
    await removeInstance(opened.plain, id);
    expect(await encryptStored(rotated, PERIODS)).toBe(3);
  });
});

describe('the signing secrets', () => {
  it('stay as they are without a key', async () => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    const before = await opened.secrets();
    expect(await encryptStored(opened.plain, PERIODS)).toBe(0);
    expect(await opened.secrets()).toEqual(before);
  });

  it('are encrypted, in batches, once, those of deleted queues and of rotations too; and then with another key', async () => {
    const opened = await openDatabase();
    await opened.createQueues(250);
    const { texts } = await readSecrets(opened, opened.plain);
    expect(texts).toHaveLength(250 + 83);

    const withFirst = opened.openWith(keys[0]);
    expect(await encryptStored(withFirst, PERIODS)).toBe(250);
    expect(await readSecrets(opened, withFirst)).toEqual({ texts, keyIds: [idOf(keys[0])] });
    const stored = await opened.secrets();
    expect(JSON.stringify(stored)).not.toContain('whsec');
    expect(await encryptStored(withFirst, PERIODS)).toBe(0);
    expect(await opened.secrets()).toEqual(stored);

    // A key that is only there to come changes nothing yet.
    expect(await encryptStored(opened.openWith(keys[0], keys[1]), PERIODS)).toBe(0);
    const rotated = opened.openWith(keys[1], keys[0]);
    expect(await encryptStored(rotated, PERIODS)).toBe(250);
    const withSecond = opened.openWith(keys[1]);
    expect(await encryptStored(withSecond, PERIODS)).toBe(0);
    expect(await readSecrets(opened, withSecond)).toEqual({ texts, keyIds: [idOf(keys[1])] });
    expect(opened.warnings).toEqual([]);
  });

  it('are encrypted by several processes at once, each as it was', async () => {
    const opened = await openDatabase();
    await opened.createQueues(120);
    const { texts } = await readSecrets(opened, opened.plain);
    const processes = Array.from({ length: 4 }, () => opened.openWith(keys[0]));
    await Promise.all(processes.map((db) => encryptStored(db, PERIODS)));
    expect(await readSecrets(opened, opened.openWith(keys[0]))).toEqual({ texts, keyIds: [idOf(keys[0])] });
  });

  it('take over in a claim as they are stored', async () => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    const db = opened.openWith(keys[0]);
    await encryptStored(db, PERIODS);
    await db.query(`update queue set next_signing_secret_at = jobferry_now() where id = 'q3'`);
    await db.query(
      `insert into job (account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, scheduled_for, deliver_by, created_at)
       values ('a', 'q3', 3, 'fixed', 0, '{}', jobferry_now(), jobferry_now() + interval '1 day', jobferry_now())`,
    );
    const { jobs } = await claimOf(db, 'q3', 1);
    expect(jobs).toMatchObject([{ signingSecret: 'whsec_next_3', nextSigningSecret: null }]);
  });

  it('the signing secrets of alert rules are encrypted, too, and need their key', async () => {
    const opened = await openDatabase();
    await opened.plain.query(
      `insert into alert_rule (id, account_id, kind, threshold, window_seconds, for_seconds, webhook_url, format, signing_secret)
       values ('r', 'a', 'usage', 80, 0, 0, 'http://127.0.0.1:9/', 'slack', 'whsec_rule')`,
    );
    const secretOf = async (db: Database) => {
      const row = await db.one<{ signing_secret: string }>('select signing_secret from alert_rule');
      return db.cipher.decrypt('signing-secret:r', row?.signing_secret ?? '');
    };
    const first = opened.openWith(keys[0]);
    await encryptStored(first, PERIODS);
    expect(await secretOf(first)).toBe('whsec_rule');
    await expect(secretOf(opened.plain), 'encrypted').rejects.toThrow();
    await expect(encryptStored(opened.openWith(keys[1]), PERIODS)).rejects.toThrow('1 alert rule(s)');
    const second = opened.openWith(keys[1]);
    await encryptStored(opened.openWith(keys[1], keys[0]), PERIODS);
    expect(await secretOf(second)).toBe('whsec_rule');
    expect(opened.warnings).toEqual([]);
  });

  it('do not keep the others from being served when one is damaged', async () => {
    const opened = await openDatabase();
    await opened.createQueues(4);
    const before = opened.openWith(keys[0]);
    await encryptStored(before, PERIODS);
    // The secret of another queue, put here by an attacker who can write to the database.
    await opened.plain.query(
      `update queue set signing_secret = (select signing_secret from queue where id = 'q2') where id = 'q1'`,
    );
    expect(await encryptStored(opened.openWith(keys[1], keys[0]), PERIODS)).toBe(3);
    expect(opened.warnings).toMatchObject([{ queueId: 'q1', err: { name: 'UnreadableError' } }]);
  });
});

describe('a running process', () => {
  it('encrypts what a process without a key stores beside it, and leaves what has another key', async () => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    await encryptStored(opened.openWith(keys[0]), PERIODS);
    const [first, ...others] = await opened.secrets();
    // As in a rotation of keys: this process encrypts with the new key, and another one still with the old key.
    const db = opened.openWith(keys[1], keys[0]);
    await opened.plain.query(`update queue set signing_secret = 'whsec_2', next_signing_secret = null where id = 'q2'`);
    await opened.plain.query(`update queue set next_signing_secret = 'whsec_new' where id = 'q3'`);
    const stops: (() => Promise<unknown>)[] = [];
    onTestFinished(async () => void (await Promise.all(stops.map((stop) => stop()))));
    watchKeys({
      config: { encryptionKeys: keys.slice(0, 2) },
      log: { warn: () => undefined },
      database: { db, runsBeside: false },
      started: { add: (stop: () => Promise<unknown>) => stops.push(stop) },
    } as unknown as Foundations);
    await waitFor(async () => !JSON.stringify(await opened.secrets()).includes('whsec'));
    const stored = await opened.secrets();
    expect(stored[0]).toEqual(first);
    expect(stored[2]?.signing_secret).toBe(others[1]?.signing_secret);
    expect(keyIdOf(stored[2]?.next_signing_secret ?? '')).toBe(idOf(keys[1]));
    expect((await readSecrets(opened, db)).texts).toEqual(['whsec_1', 'whsec_2', 'whsec_3', 'whsec_new']);
  });
});

describe('a start', () => {
  it.each<[what: string, of: readonly Uint8Array[]]>([
    ['no key', []],
    ['another key', [keys[1]]],
    ['other keys', [keys[1], keys[2]]],
  ])('is refused with %s when signing secrets need one', async (_what, of) => {
    const opened = await openDatabase();
    await opened.createQueues(3);
    await encryptStored(opened.openWith(keys[0]), PERIODS);
    const stored = await opened.secrets();
    await expect(encryptStored(opened.openWith(...of), PERIODS)).rejects.toThrow(
      `ENCRYPTION_KEY: the key with the id ${idOf(keys[0])} is missing: the signing secrets of 3 queue(s) are encrypted with it`,
    );
    expect(await opened.secrets()).toEqual(stored);
  });

  it('is refused without a key that payloads need, until they are past retention', async () => {
    const opened = await openDatabase();
    await opened.createQueues(1);
    const store = (key: string, age: string) =>
      opened.plain.query(
        `insert into job (id, account_id, queue_id, max_attempts, backoff_type, backoff_delay, payload, payload_key,
                          scheduled_for, deliver_by, created_at, status, completed_at)
         select jobferry_id(at), 'a', 'q1', 3, 'fixed', 0, 'enc:v1:' || $1 || ':AAAA', $1, at, at, at, 'completed', at
           from (select jobferry_now() - $2::interval as at) moment`,
        [key, age],
      );
    await store(idOf(keys[0]), '73 hours');
    await store(idOf(keys[1]), '71 hours');
    await store(idOf(keys[2]), '0');
    await encryptStored(opened.openWith(keys[2], keys[1]), PERIODS);
    await expect(encryptStored(opened.openWith(keys[2]), PERIODS)).rejects.toThrow(
      new RegExp(
        `^ENCRYPTION_KEY: the key with the id ${idOf(keys[1])} is missing: payloads are encrypted with it, the last of which is kept until \\d{4}-`,
      ),
    );
    await encryptStored(opened.openWith(keys[2]), { ...PERIODS, retentionMs: PERIODS.retentionMs - 2 * 3_600_000 });
  });

  it('is refused without any key while a queue encrypts its payloads', async () => {
    const opened = await openDatabase();
    await opened.createQueues(5);
    await opened.plain.query('update queue set payloads_encrypted = true where deleted_at is not null');
    expect(await encryptStored(opened.plain, PERIODS)).toBe(0);
    await opened.plain.query(`update queue set payloads_encrypted = true where id = 'q2'`);
    await expect(encryptStored(opened.plain, PERIODS)).rejects.toThrow(
      'ENCRYPTION_KEY: a key is needed: the queue queue-2 encrypts its payloads',
    );
    expect(await encryptStored(opened.openWith(keys[0]), PERIODS)).toBe(5);
  });
});
