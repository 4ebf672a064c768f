import { beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../support/api.ts';
import { insertDeadLetters } from '../support/bulk.ts';
import { connect } from '../support/database.ts';
import { createGate, openReceiver, startService } from '../support/service.ts';
import { openServices } from '../support/services.ts';

/** How much one call or one queue may delay the others (I-27, I-38). */
let api: Api;
let databaseUrl: string;

beforeAll(async () => {
  // The hundred hang for longer than a busy machine takes for the others.
  ({ api, databaseUrl } = await startService({ WEBHOOK_TIMEOUT_SECONDS: '120' }));
});

interface BulkResult {
  replayed: number;
  remaining: number;
  jobs: { id: string; replayedJobId: string }[];
}

describe('a replay', () => {
  it('a replay of everything takes 1000 a call, the oldest first, and each once', async () => {
    const queue = await api.createQueue({ webhookUrl: 'http://127.0.0.1:9/', concurrency: 1 });
    const { db } = openServices(databaseUrl);
    const letters: string[] = [];
    for (let n = 0; n < 5; n += 1) letters.push(...(await insertDeadLetters(db, queue.id, 1000)));
    const jobs: BulkResult['jobs'] = [];
    for (let call = 1; call <= 5; call += 1) {
      const { body } = await api.call<BulkResult>('POST', `/v1/queues/${queue.id}/dlq/replay`, { all: true });
      expect(body).toMatchObject({ replayed: 1000, remaining: 5000 - call * 1000 });
      jobs.push(...body.jobs);
    }
    expect(jobs.map(({ id }) => id)).toEqual(letters);
    expect(new Set(jobs.map(({ replayedJobId }) => replayedJobId)).size).toBe(5000);
  });
});

describe('a receiver that hangs on all slots of its queue', () => {
  it('keeps no other queue waiting', async () => {
    const gate = createGate();
    const hanging = await openReceiver(async () => {
      await gate.opened;
      return {};
    });
    const healthy = await openReceiver();
    const stuck = await api.createQueue({ webhookUrl: hanging.url, concurrency: 100 });
    const flowing = await api.createQueue({ webhookUrl: healthy.url, concurrency: 5 });
    await Promise.all(Array.from({ length: 150 }, () => api.publish(stuck.name)));
    await hanging.waitFor(100);

    // One after the other, so that each has to come through while the hundred hang.
    for (let n = 0; n < 20; n += 1) await api.waitForStatus((await api.publish(flowing.name)).id, 'completed');
    expect(hanging.inFlight).toBe(100);
    expect(hanging.requests).toHaveLength(100);
    gate.open();
  });
});

describe('a forgotten transaction that has queues locked', () => {
  it('keeps no other queue waiting', async () => {
    const receiver = await openReceiver();
    const create = () => api.createQueue({ webhookUrl: receiver.url, concurrency: 1 });
    const locked = await Promise.all(Array.from({ length: 20 }, create));
    const flowing = await create();
    const client = await connect(databaseUrl);
    await client.query('begin');
    await client.query('select from queue where id = any ($1) for update', [locked.map(({ id }) => id)]);
    const waiting = await Promise.all(locked.map(({ name }) => api.publish(name)));

    for (let n = 0; n < 20; n += 1) await api.waitForStatus((await api.publish(flowing.name)).id, 'completed');
    expect(new Set(receiver.requests.map((request) => request.json().queue))).toEqual(new Set([flowing.name]));
    await client.query('rollback');
    for (const { id } of waiting) await api.waitForStatus(id, 'completed');
  });
});
