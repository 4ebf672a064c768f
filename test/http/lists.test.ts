import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { account, CREATED_AT, ID, job } from '../support/fake-services.ts';

const JOBS = `/v1/queues/${ID}/jobs`;
const DLQ = `/v1/queues/${ID}/dlq`;
const at = CREATED_AT.toISOString();
const shownHistory = [{ attempt: 1, status: 'failed', error: 'HTTP 500', webhookStatusCode: 500, timestamp: at }];

describe.each([JOBS, DLQ])('the list %s', (path) => {
  it.each([
    ['', {}],
    ['page=2&limit=100', { page: 2, limit: 100 }],
    ['page=1000000000&limit=1', { page: 1_000_000_000, limit: 1 }],
    [`from=${at}`, { from: CREATED_AT }],
    ['to=2026-01-31T13:00:00%2B01:00', { to: new Date('2026-01-31T12:00:00Z') }],
    ['from=2027-01-01T00:00:00Z&to=2026-01-01T00:00:00Z', { from: new Date('2027-01-01'), to: new Date('2026-01-01') }],
    ['unknown=1&unknown=2&x[y]=3&__proto__=4&%zz', {}],
  ])('takes ?%s', async (query, input) => {
    const api = await testApi();
    expect((await api.send('GET', `${path}?${query}`)).status).toBe(200);
    expect(api.calls[1]?.args[2]).toMatchObject({ page: 1, limit: 25, ...input });
  });

  it.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=1e1',
    'page=0x1',
    'page=%201',
    'page=+1',
    'page=NaN',
    'page=',
    'page',
    'page=9223372036854775808',
    'page=%D9%A1',
    'page=1&page=2',
    'page[]=1',
    'page[a]=1',
    'page=1&page[]=1',
    'limit=0',
    'limit=101',
    'limit=x',
    'limit=10&limit=10',
    'from=',
    'from=infinity',
    'from=now',
    'from=0',
    'from=2026-01-31',
    'from=2026-02-30T00:00:00Z',
    'from=2026-01-31T12:00:00+02:00',
    'from=+300000-01-01T00:00:00Z',
    'to=epoch',
    `to=${at}&to=${at}`,
  ])('H88-H92 refuses ?%s', async (query) => {
    const api = await testApi();
    const answer = await api.send('GET', `${path}?${query}`);
    expect(answer).toMatchObject({ status: 400, json: { error: expect.stringMatching(/^(page|limit|from|to): /) } });
    expect(api.calls.map((call) => call.method)).toEqual(['accounts.authenticate']);
  });

  it('H96 takes many parameters', async () => {
    const api = await testApi();
    const many = Array.from({ length: 2000 }, (_, n) => `a${n}=`).join('&');
    expect((await api.send('GET', `${path}?${many}&page=3`)).status).toBe(200);
    expect(api.calls[1]?.args[2]).toMatchObject({ page: 3 });
  });
});

describe('the job list', () => {
  it('shows job documents and the lower bound that was used', async () => {
    const api = await testApi();
    const answer = await api.send('GET', JOBS);
    const shown = { ...job, payload: { a: 1 }, history: shownHistory, scheduledFor: at, createdAt: at };
    expect(answer.json).toEqual({ jobs: [shown], total: 1, page: 1, limit: 25, appliedFrom: at });
  });

  it.each(['pending', 'processing', 'awaiting_ack', 'completed', 'dead'])('takes status=%s', async (status) => {
    const api = await testApi();
    expect((await api.send('GET', `${JOBS}?status=${status}`)).status).toBe(200);
    expect(api.calls[1]?.args.slice(0, 3)).toEqual([account, ID, { page: 1, limit: 25, status }]);
  });

  it.each(['held', 'DEAD', '', 'dead&status=dead', 'dead&status=pending'])('H91 refuses status=%s', async (status) => {
    const api = await testApi();
    expect(await api.send('GET', `${JOBS}?status=${status}`)).toMatchObject({
      status: 400,
      json: { error: expect.any(String) },
    });
  });

  it.each(['%', '_', '\\', '.*', '(', "'", '$1', 'é', '%F0'.slice(0, 1), '', 'x'.repeat(1020)])(
    'H94 takes the idempotencyKey filter %s literally',
    async (filter) => {
      const api = await testApi();
      expect((await api.send('GET', `${JOBS}?idempotencyKey=${encodeURIComponent(filter)}`)).status).toBe(200);
      expect(api.calls[1]?.args[2]).toEqual({ page: 1, limit: 25, idempotencyKey: filter });
    },
  );

  it.each(['%00', 'x'.repeat(1021), 'x'.repeat(10_240), 'a&idempotencyKey=b'])(
    'H94 refuses an idempotencyKey filter',
    async (filter) => {
      const api = await testApi();
      const answer = await api.send('GET', `${JOBS}?idempotencyKey=${filter}`);
      expect(answer).toMatchObject({ status: 400, json: { error: expect.any(String) } });
    },
  );
});

describe('the dead-letter list', () => {
  it('shows the fields of the spec and no others', async () => {
    const api = await testApi();
    const entry = {
      id: ID,
      originalJobId: ID,
      queue: 'mails',
      payload: { a: 1 },
      history: shownHistory,
      deadAt: at,
      replayedAt: null,
      replayedJobId: null,
    };
    expect((await api.send('GET', DLQ)).json).toEqual({ jobs: [entry], total: 1, page: 1, limit: 25 });
  });

  it.each([
    ['', true],
    ['includeReplayed=true', true],
    ['includeReplayed=null', true],
    ['includeReplayed=', true],
    ['includeReplayed=false', false],
  ])('?%s lists replayed entries: %s', async (query, includeReplayed) => {
    const api = await testApi();
    expect((await api.send('GET', `${DLQ}?${query}`)).status).toBe(200);
    expect(api.calls[1]?.args[2]).toEqual({ page: 1, limit: 25, includeReplayed });
  });

  it.each(['maybe', 'TRUE', '1', 'toString', 'true&includeReplayed=true'])(
    'H97 refuses includeReplayed=%s',
    async (value) => {
      const api = await testApi();
      expect(await api.send('GET', `${DLQ}?includeReplayed=${value}`)).toMatchObject({
        status: 400,
        json: { error: expect.any(String) },
      });
    },
  );
});
