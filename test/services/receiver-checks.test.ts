import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSender } from '../../src/delivery/send.ts';
import { createTestSender } from '../../src/delivery/test-request.ts';
import type { Account } from '../../src/domain/account.ts';
import type { TestAnswer } from '../../src/domain/receiver-check.ts';
import type { Context } from '../../src/services/context.ts';
import { createReceiverChecks } from '../../src/services/queues/check-receiver.ts';
import { createAccount } from '../support/account.ts';
import { createTestDatabase } from '../support/database.ts';
import { startRawServer } from '../support/raw-server.ts';
import { createGate } from '../support/service.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** The places that checks of receivers share in a process. */

const ANSWER: TestAnswer = {
  answer: { kind: 'answered', statusCode: 200, retryAfter: null },
  durationMs: 1,
  responseBody: '',
  certificateEndsAt: null,
};
const { signal: never } = new AbortController();
const sender = createSender({ timeoutMs: 60_000, signatureHeader: 'x-service-signature', allowCidrs: ['127.0.0.0/8'] });
afterAll(() => sender.close());

let op: TestServices;
let url: string;

beforeAll(async () => {
  ({ url } = await createTestDatabase());
  op = openServices(url);
});

async function newAccount(webhookUrl = 'http://127.0.0.1:9/'): Promise<{ account: Account; queueId: string }> {
  const { id } = await createAccount(url);
  const account: Account = { id, name: 'a', plan: 'pro', actor: { type: 'api_key', id: null, label: 'key' } };
  return { account, queueId: (await op.queues.create(account, { name: 'mails', webhookUrl })).id };
}

const checksBy = (sendTest: Context['sendTest']) => createReceiverChecks({ ...op.context, sendTest });

describe('checks of receivers', () => {
  it('four greedy accounts leave places to a fifth one', async () => {
    const gate = createGate();
    onTestFinished(gate.open);
    let running = 0;
    const checks = checksBy(async () => {
      running += 1;
      await gate.opened;
      return ANSWER;
    });
    const greedy = await Promise.all(Array.from({ length: 4 }, () => newAccount()));
    const others = await Promise.all(Array.from({ length: 3 }, () => newAccount()));
    const refused: unknown[] = [];
    const all = greedy.flatMap(({ account, queueId }) =>
      Array.from({ length: 6 }, () =>
        checks.checkReceiver(account, queueId, never).catch((error) => refused.push(error)),
      ),
    );
    await waitFor(() => running + refused.length === all.length, { message: 'checks that wait' });
    expect(running).toBeLessThanOrEqual(16);
    expect(refused[0]).toMatchObject({ kind: 'conflict', message: expect.stringMatching(/try again in a moment$/) });
    const waiting = others.map(({ account, queueId }) => checks.checkReceiver(account, queueId, never));
    gate.open();
    for (const check of waiting) expect(await check).toMatchObject({ webhookStatusCode: 200 });
    await Promise.all(all);
  });

  it('a check ends when its client leaves, before and while it waits for the receiver', async () => {
    const silent = await startRawServer(() => undefined);
    onTestFinished(() => silent.close());
    const { account, queueId } = await newAccount(`${silent.url}/`);
    const checks = checksBy(createTestSender(sender));
    const leaving = new AbortController();
    const running = Array.from({ length: 5 }, () => checks.checkReceiver(account, queueId, leaving.signal));
    await waitFor(() => silent.received.filter((text) => text !== '').length === 5, { message: 'five requests' });
    await expect(checks.checkReceiver(account, queueId, never)).rejects.toMatchObject({ kind: 'conflict' });
    leaving.abort();
    for (const check of running) expect(await check).toMatchObject({ webhookStatusCode: null, error: 'timeout' });
    await silent.waitForClosed(5);
    await checks.checkReceiver(account, queueId, leaving.signal);
    expect(silent.received.slice(5).join('')).toBe('');
  });
});
