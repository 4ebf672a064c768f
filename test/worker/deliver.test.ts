import { afterEach, describe, expect, it } from 'vitest';
import type { ClaimedJob } from '../../src/db/delivery/claim.ts';
import type { Lookup } from '../../src/delivery/resolver.ts';
import { createSender, type Sender } from '../../src/delivery/send.ts';
import { type ClaimTime, deliver } from '../../src/worker/dispatch/deliver.ts';
import { type Moment, thisMoment } from '../../src/worker/moment.ts';
import { job, NOW, rules } from '../support/job-states.ts';
import { startRawServer } from '../support/raw-server.ts';

/** A claim is checked once more on the monotonic clock, right before its request is written (I-13). */

const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const part of opened.splice(0).reverse()) await part.close();
});

const PAYLOAD = '{"n":1e400}';

function claimed(webhookUrl: string): ClaimedJob {
  return {
    id: '0'.repeat(24),
    token: '1',
    accountId: 'a',
    queueId: 'q',
    queueName: 'mails',
    webhookUrl,
    signingSecret: 's',
    nextSigningSecret: null,
    payload: PAYLOAD,
    trace: null,
    createdAt: new Date(0),
    scheduledFor: new Date(0),
    state: job(),
    rules: rules(),
  };
}

function setup(lookup?: Lookup, timeoutMs = TIMEOUT_MS): Sender {
  const sender = createSender({
    timeoutMs,
    signatureHeader: 'x-service-signature',
    allowCidrs: ['127.0.0.0/8'],
    lookup,
  });
  opened.push(sender);
  return sender;
}

/** A claim whose answer has just arrived, as if it had read the database's clock at `NOW`. */
function claimedAt(startedAt: Moment = thisMoment()): ClaimTime {
  return { now: NOW, startedAt, answeredAt: performance.now() };
}

async function receiver(head = 'HTTP/1.1 200 OK') {
  const server = await startRawServer((socket) => {
    socket.once('data', () => socket.end(`${head}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`));
  });
  opened.push(server);
  return server;
}

const TIMEOUT_MS = 5000;
/** The part of a lease that is kept to write the outcome. */
const SETTLE_MS = 1000;
const START_WITHIN_MS = 500;
const LEASE_MS = START_WITHIN_MS + TIMEOUT_MS + SETTLE_MS;
const lease = (leaseMs: number) => ({ leaseMs, isHeld: () => true });
/** The attempt is given back, and there is no entry in the history. */
const GIVEN_BACK = {
  outcome: 'abandoned',
  settlement: { answer: null, transition: { status: 'pending', attempts: 0, entry: null } },
};
const TIMED_OUT = { status: 'failed', error: 'timeout' };
const ACCEPTED = { outcome: 'accepted', settlement: { transition: { status: 'completed' } } };

/** Answers when so much time has passed, and not before. */
function slowLookup(ms: number): Lookup {
  return (_hostname, _options, callback) => {
    const from = performance.now();
    const answer = () => {
      if (performance.now() - from < ms) setTimeout(answer, 5);
      else callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    answer();
  };
}

describe('a claim', () => {
  it('a fresh claim is delivered, and its payload is kept only in the envelope', async () => {
    const server = await receiver();
    const now = claimedAt();
    const job = claimed(server.url);
    expect(await deliver(setup(), job, now, lease(60_000))).toMatchObject(ACCEPTED);
    expect(server.received[0]).toContain(PAYLOAD);
    expect(job.payload).toBe('');
  });

  it('a claim that a freeze has aged is given back, and nothing is written', async () => {
    const server = await receiver();
    const { monotonic, wall } = thisMoment();
    const long = claimedAt({ monotonic: monotonic - START_WITHIN_MS, wall });
    expect(await deliver(setup(), claimed(server.url), long, lease(LEASE_MS))).toMatchObject(GIVEN_BACK);
    expect(server.connections).toBe(0);
  });

  it('a claim that a suspension has aged is given back, although the monotonic clock stood still', async () => {
    const server = await receiver();
    const { monotonic, wall } = thisMoment();
    const long = claimedAt({ monotonic, wall: wall - 60_000 });
    expect(await deliver(setup(), claimed(server.url), long, lease(LEASE_MS))).toMatchObject(GIVEN_BACK);
    expect(server.connections).toBe(0);
    // Corrections of the wall clock are no suspension.
    const after = thisMoment();
    const corrected = claimedAt({ monotonic: after.monotonic, wall: after.wall - 900 });
    expect(await deliver(setup(), claimed(server.url), corrected, lease(LEASE_MS))).toMatchObject(ACCEPTED);
  });

  it('a claim that took long to be answered does not shorten a hold until a date', async () => {
    const until = Math.ceil(NOW / 1000) * 1000 + 600_000;
    const server = await receiver(`HTTP/1.1 503 Busy\r\nretry-after: ${new Date(until).toUTCString()}`);
    const { monotonic, wall } = thisMoment();
    const slow = claimedAt({ monotonic: monotonic - 30_000, wall: wall - 30_000 });
    const { settlement } = await deliver(setup(), claimed(server.url), slow, lease(60_000));
    // By the clock of the database the delivery began at NOW or later,
    // so a hold of this length cannot end before the date.
    const tookMs = performance.now() - slow.answeredAt;
    expect(settlement.transition.waitMs).toBeGreaterThanOrEqual(until - NOW - tookMs);
  });

  it('a claim that may be lost while it connects is given back, and nothing is written', async () => {
    const server = await receiver();
    const now = claimedAt();
    let isHeld = true;
    const lookup: Lookup = (_hostname, _options, callback) => {
      // As when the process was suspended for longer than its lock lasts, and the lease has not ended.
      isHeld = false;
      callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const job = claimed(`http://slow.test:${server.port}/`);
    const outcome = await deliver(setup(lookup), job, now, { leaseMs: 60_000, isHeld: () => isHeld });
    expect(outcome).toMatchObject(GIVEN_BACK);
    expect(server.received.join('')).toBe('');
  });

  it('a claim whose receiver is slow to connect to is delivered, within the one deadline', async () => {
    const server = await receiver();
    const now = claimedAt();
    const job = claimed(`http://slow.test:${server.port}/`);
    expect(await deliver(setup(slowLookup(1.2 * START_WITHIN_MS)), job, now, lease(LEASE_MS))).toMatchObject(ACCEPTED);
    expect(server.received[0]).toContain(PAYLOAD);
  });

  it('a claim that a freeze aged while it connected has failed, and nothing is written', async () => {
    const server = await receiver();
    const now = claimedAt();
    // The deadline passes while the process stands still, so its timer has not fired when the connection is there.
    const lookup: Lookup = (_hostname, _options, callback) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
      callback(null, [{ address: '127.0.0.1', family: 4 }]);
    };
    const job = claimed(`http://slow.test:${server.port}/`);
    expect(await deliver(setup(lookup, 250), job, now, lease(LEASE_MS))).toMatchObject({
      outcome: 'failed',
      settlement: { transition: { status: 'pending', attempts: 1, entry: TIMED_OUT } },
    });
    expect(server.received.join('')).toBe('');
  });

  it.each([
    [true, 'abandoned'],
    [undefined, 'unsent'],
  ] as const)(
    'a claim whose delivery could not begin is given back (client of a tunnel: %s)',
    async (isFromClient, outcome) => {
      const answer = { kind: 'no_answer', error: 'no_descriptors' } as const;
      const result = { answer, durationMs: 1, responseBody: null, ...(isFromClient ? { isFromClient } : {}) };
      const sender = { ...setup(), send: () => Promise.resolve(result) };
      const transition = { status: 'pending', attempts: 0, entry: null, lastError: 'no_descriptors' };
      const delivery = await deliver(sender, claimed('http://127.0.0.1/'), claimedAt(), lease(60_000));
      expect(delivery).toMatchObject({ outcome, settlement: { transition } });
      expect(delivery.settlement.transition.waitMs).toBeGreaterThan(0);
    },
  );
});
