import { beforeAll, describe, expect, it } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { createQueueOperations } from '../../src/services/queues/operations.ts';
import { createTestDatabase } from '../support/database.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';

/** The switch of the Standard Webhooks headers of a queue (docs/decisions/0050), without any process. */

let op: TestServices;
let account: Account;
let names = 0;

beforeAll(async () => {
  op = openServices((await createTestDatabase()).url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  account = await op.firstAccount();
});

function createQueue() {
  names += 1;
  return op.queues.create(account, { name: `queue-${names}`, webhookUrl: 'http://127.0.0.1:9/' });
}

async function isOn(id: string): Promise<boolean | undefined> {
  return (await op.db.one<{ on: boolean }>('select standard_webhooks as on from queue where id = $1', [id]))?.on;
}

describe('the switch', () => {
  it('is off for a new queue, and in the audit log when it changes something', async () => {
    const { signingSecret: _, ...queue } = await createQueue();
    expect(await isOn(queue.id)).toBe(false);
    for (const enabled of [false, true, true, false]) {
      expect(await op.queues.setStandardWebhooks(account, queue.id, enabled)).toEqual(queue);
      expect(await isOn(queue.id)).toBe(enabled);
    }
    const entry = (to: boolean) => ({
      action: 'queue.set_standard_webhooks',
      before: { standardWebhooks: !to },
      after: { standardWebhooks: to },
    });
    expect((await op.auditOf(queue.id)).slice(1)).toMatchObject([entry(true), entry(false)]);
  });

  it('a queue of another account is not found, nor is a deleted one', async () => {
    const [queue, deleted] = [await createQueue(), await createQueue()];
    await op.queues.delete(account, deleted.id);
    const refusal = { kind: 'not_found', message: 'queue not found' };
    const stranger = { ...account, id: UNKNOWN_ID };
    for (const enabled of [true, false]) {
      await expect(op.queues.setStandardWebhooks(stranger, queue.id, enabled)).rejects.toMatchObject(refusal);
      for (const id of [deleted.id, UNKNOWN_ID, '', 'a\0b']) {
        await expect(op.queues.setStandardWebhooks(account, id, enabled)).rejects.toMatchObject(refusal);
      }
    }
    expect(await isOn(queue.id)).toBe(false);
  });

  it('lets the worker of the process follow when it has changed something, and is stored although that fails', async () => {
    const queue = await createQueue();
    let reads = 0;
    const followQueues = async () => {
      reads += 1;
      throw new Error('on purpose');
    };
    const own = createQueueOperations({ ...op.context, followQueues });
    for (const enabled of [false, true, true, false, true]) await own.setStandardWebhooks(account, queue.id, enabled);
    expect(reads).toBe(3);
    expect(await isOn(queue.id)).toBe(true);
  });
});

describe('a secret that is not base64, which only a hand can write', () => {
  const refusal = { kind: 'invalid_request', message: expect.stringMatching(/not base64.*rotateSigningSecret/) };

  it.each(['signing_secret', 'next_signing_secret'])('is refused as %s, until it is replaced', async (column) => {
    const queue = await createQueue();
    await op.queues.rotateSigningSecret(account, queue.id, 3600);
    await op.db.query(`update queue set ${column} = 'a secret of their own' where id = $1`, [queue.id]);
    await expect(op.queues.setStandardWebhooks(account, queue.id, true)).rejects.toMatchObject(refusal);
    expect(await isOn(queue.id)).toBe(false);
    // There is nothing to verify when it is switched off.
    await op.queues.setStandardWebhooks(account, queue.id, false);
    await op.queues.rotateSigningSecret(account, queue.id, 0);
    await op.queues.setStandardWebhooks(account, queue.id, true);
    expect(await isOn(queue.id)).toBe(true);
  });

  it('is passed over when its time to sign has ended, although no claim has replaced it yet', async () => {
    const queue = await createQueue();
    await op.queues.rotateSigningSecret(account, queue.id, 3600);
    await op.db.query(
      `update queue set signing_secret = 'old', next_signing_secret_at = jobferry_now() - interval '1 s' where id = $1`,
      [queue.id],
    );
    await op.queues.setStandardWebhooks(account, queue.id, true);
    expect(await isOn(queue.id)).toBe(true);
  });
});
