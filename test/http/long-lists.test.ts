import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { insertDeadLetters } from '../support/bulk.ts';
import { createTestDatabase } from '../support/database.ts';
import { type Api, startApi } from '../support/fake-api.ts';
import { account, KEY } from '../support/fake-services.ts';
import { openServices, type TestServices } from '../support/services.ts';
import { waitFor } from '../support/wait-for.ts';

/** A page has a bound in entries; these pages have more bytes than a process should hold for a client. */
const MIB = 2 ** 20;
const JOBS = 32;

let op: TestServices;
let api: Api;
let queueId = '';
/** Bytes of payloads that were read from the database. */
let bytesRead = 0;
/** Whether the key of the requests is revoked. */
let isRevoked = false;
/** The answer to the last request. */
let answer: ServerResponse;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  op = openServices(url);
  await op.db.query(`insert into account (name, plan) values ('test', 'pro')`);
  const owner = await op.firstAccount();
  ({ id: queueId } = await op.queues.create(owner, { name: 'large', webhookUrl: 'http://127.0.0.1:9/' }));
  await insertDeadLetters(op.db, queueId, JOBS, { payload: `{"fill":"${'é'.repeat(MIB / 2 - 20)}"}` });
  await op.db.query(
    `update job set payload = '{"n":"' || id || '"}' where id in (select id from job order by id limit 12)`,
  );
  const query = op.db.query.bind(op.db);
  op.db.query = (async (...args: Parameters<typeof query>) => {
    const rows = await query(...args);
    for (const row of rows) if (typeof row.payload === 'string') bytesRead += Buffer.byteLength(row.payload);
    return rows;
  }) as typeof query;
  api = await startApi({
    services: {
      accounts: { authenticate: async () => (isRevoked ? null : account) },
      jobs: { list: (_account, id, input) => op.jobs.list(owner, id, input) },
      deadLetters: { list: (_account, id, input) => op.deadLetters.list(owner, id, input) },
    },
    timeouts: { grace: 100 },
    watch: (_request, response) => {
      answer = response;
    },
  });
  return api.close;
});

/** Requests a list and does not read the answer. */
function ask(path: string): Socket {
  const socket = connect(Number(api.url.port), api.url.hostname);
  onTestFinished(() => {
    socket.destroy();
  });
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${KEY}\r\nconnection: close\r\n\r\n`);
  return socket;
}

/**
 * Until the kernel takes no more of the answer, or the client is gone, and nothing more is read for it.
 * @returns the bytes that were read
 */
async function settled(): Promise<number> {
  let before = '';
  const isStill = () => {
    const now = `${bytesRead} ${answer.socket?.writableLength}`;
    const isSame = now === before;
    before = now;
    return isSame && bytesRead > 0 && (answer.writableNeedDrain || answer.destroyed);
  };
  await waitFor(isStill, { everyMs: 50 });
  return bytesRead;
}

const path = (list: string, query = 'limit=100') => `/v1/queues/${queueId}/${list}?${query}`;

describe('a page of 20 MiB', () => {
  it.each(['jobs', 'dlq'])('a page of 20 MiB of %s comes whole, as a small page does', async (list) => {
    const { json, headers, status } = await api.send('GET', path(list));
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(json).toMatchObject({ total: JOBS, page: 1, limit: 100 });
    const ids = json.jobs.map(({ id }: { id: string }) => id);
    expect(ids).toEqual([...new Set(ids)].sort().reverse());
    expect(ids).toHaveLength(JOBS);
    const small = await api.send('GET', path(list, 'limit=1&page=32'));
    expect(small.headers).toHaveProperty('content-length');
    expect(json.jobs.slice(-1)).toEqual(small.json.jobs);
    expect(Object.keys(json)).toEqual(Object.keys(small.json));
  });

  it('is not read from the database before the client reads it', async () => {
    bytesRead = 0;
    const client = ask(path('jobs'));
    // Some MiB are what the kernel takes.
    expect(await settled()).toBeLessThan(14 * MIB);
    client.resume();
    await waitFor(() => bytesRead > 19 * MIB);
    await waitFor(() => client.readableEnded);
  });

  it('is read no further when the client goes away', async () => {
    bytesRead = 0;
    const client = ask(path('jobs'));
    await settled();
    client.destroy();
    await waitFor(() => answer.destroyed);
    expect(await settled()).toBeLessThan(14 * MIB);
  });

  it('is cut off when its key is revoked in the middle (I-45)', async () => {
    bytesRead = 0;
    const client = ask(path('jobs'));
    const before = await settled();
    isRevoked = true;
    onTestFinished(() => {
      isRevoked = false;
    });
    client.resume();
    await waitFor(() => client.readableEnded || client.destroyed);
    // The slice that was read ahead, and the one for which the key was checked.
    expect(bytesRead - before).toBeLessThan(6 * MIB);
    expect(api.logged.splice(0)).toMatchObject([{ fields: { err: { message: 'the API key has been revoked' } } }]);
  });

  it('is cut off, and not ended, when the database fails in the middle', async () => {
    bytesRead = 0;
    const client = ask(path('jobs'));
    let received = '';
    client.on('data', (data) => {
      received = (received + data.toString('latin1')).slice(-100);
    });
    client.pause();
    await settled();
    const { query } = op.db;
    op.db.query = () => Promise.reject(new Error('planted'));
    onTestFinished(() => {
      op.db.query = query;
    });
    client.resume();
    await waitFor(() => client.readableEnded || client.destroyed);
    expect(received).not.toContain('"total"');
    expect(received.endsWith('0\r\n\r\n')).toBe(false);
    const { id: accountId } = account;
    const fields = {
      err: expect.objectContaining({ message: 'planted' }),
      method: 'GET',
      url: path('jobs'),
      accountId,
      requestId: expect.any(String),
    };
    expect(api.logged).toEqual([
      { fields, message: 'reading a list failed after a part was sent: the answer was cut off' },
    ]);
  });
});
