import { afterEach, describe, expect, it } from 'vitest';
import type { ClaimedJob } from '../../src/db/claim.ts';
import type { Lookup } from '../../src/delivery/resolver.ts';
import { createSender, type Sender } from '../../src/delivery/send.ts';
import { deliver } from '../../src/services/deliver.ts';
import { thisMoment } from '../../src/services/moment.ts';
import { startRawServer } from '../delivery/raw-server.ts';
import { job, rules } from '../domain/fixtures.ts';

/** A claim is asked about once more on the monotonic clock, right before its request is written (I-13). */

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

const PAYLOAD = '{"n":1e400}';

function claimed(webhookUrl: string): ClaimedJob {
  return {
    ...{ id: '0'.repeat(24), token: '1', accountId: 'a', queueId: 'q', queueName: 'mails', webhookUrl },
    ...{ signingSecret: 's', nextSigningSecret: null, payload: PAYLOAD, createdAt: new Date(0) },
    ...{ scheduledFor: new Date(0), state: job(), rules: rules() },
  };
}

function setup(lookup?: Lookup): Sender {
  const sender = createSender({
    ...{ timeoutMs: 5000, signatureHeader: 'x-service-signature', allowCidrs: ['127.0.0.0/8'], lookup },
  });
  opened.push(sender);
  return sender;
}

async function receiver() {
  const server = await startRawServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'));
  });
  opened.push(server);
  return server;
}

const START_WITHIN_MS = 100;
/** The attempt is given back, and there is no entry in the history. */
const GIVEN_BACK = {
  outcome: 'abandoned',
  settlement: { answer: null, transition: { status: 'pending', attempts: 0, entry: null } },
};

describe('a claim', () => {
  it('that is fresh is delivered', async () => {
    const server = await receiver();
    const now = { now: Date.now(), asked: thisMoment() };
    const delivery = await deliver(setup(), claimed(server.url), now, 60_000);
    expect(delivery).toMatchObject({ outcome: 'accepted', settlement: { transition: { status: 'completed' } } });
    expect(server.received[0]).toContain(PAYLOAD);
  });

  it('that a freeze has aged is given back, and nothing is written', async () => {
    const server = await receiver();
    const { monotonic, wall } = thisMoment();
    const long = { now: Date.now(), asked: { monotonic: monotonic - START_WITHIN_MS, wall } };
    expect(await deliver(setup(), claimed(server.url), long, START_WITHIN_MS)).toMatchObject(GIVEN_BACK);
    expect(server.connections).toBe(0);
  });

  it('that the suspension of a virtual machine has aged is given back, although the monotonic clock stood still', async () => {
    const server = await receiver();
    const { monotonic, wall } = thisMoment();
    const long = { now: Date.now(), asked: { monotonic, wall: wall - 60_000 } };
    expect(await deliver(setup(), claimed(server.url), long, 20_000)).toMatchObject(GIVEN_BACK);
    expect(server.connections).toBe(0);
    // Corrections of the wall clock are no suspension.
    const corrected = { now: Date.now(), asked: { monotonic, wall: wall - 900 } };
    expect(await deliver(setup(), claimed(server.url), corrected, 500)).toMatchObject({ outcome: 'accepted' });
  });

  it('that has aged while the receiver let us wait for a connection has failed, and nothing is written', async () => {
    const server = await receiver();
    const now = { now: Date.now(), asked: thisMoment() };
    const lookup: Lookup = (_hostname, _options, callback) => {
      const answer = () => {
        if (performance.now() - now.asked.monotonic < START_WITHIN_MS) setTimeout(answer, 5);
        else callback(null, [{ address: '127.0.0.1', family: 4 }]);
      };
      answer();
    };
    const job = claimed(`http://slow.test:${server.port}/`);
    const entry = { status: 'failed', error: 'timeout' };
    expect(await deliver(setup(lookup), job, now, START_WITHIN_MS)).toMatchObject({
      ...{ outcome: 'failed', settlement: { transition: { status: 'pending', attempts: 1, entry } } },
    });
    await server.waitForClosed(1);
    expect(server.received).toEqual(['']);
  });
});
