import { beforeAll, describe, expect, it } from 'vitest';
import { startVictim } from '../support/hostile.ts';
import { type Named, NEVER_MADE, routesOfNamed } from '../support/routes.ts';
import { openReceiver } from '../support/service.ts';
import { refusal, UNKNOWN_ID } from '../support/shapes.ts';

/** H86 to H105 of the hostile inputs (docs/invariants.md): ids, queries and actions. */

const victim = startVictim();
let jobs: string;
let dlq: string;
/** The id of a dead letter of the victim. */
let deadLetterId: string;

beforeAll(async () => {
  const { api, queue } = victim;
  jobs = `/v1/queues/${queue.id}/jobs`;
  dlq = `/v1/queues/${queue.id}/dlq`;
  const { id } = await api.publish(queue.name, { payload: {}, idempotencyKey: 'a.*(b' });
  await api.waitForStatus(id, 'awaiting_ack');
  await api.call('POST', `/v1/jobs/${id}/nack`, { retryable: false });
  deadLetterId = (await api.listDeadLetters(queue.id)).jobs[0]?.id ?? '';
});

describe('H86 ids', () => {
  const BAD = [
    ...['x', 'f'.repeat(23), 'f'.repeat(25), 'F'.repeat(24), '%00', `${'f'.repeat(23)}%00`, '..%2f', '%2e%2e%2f'],
    ...['%7B%22%24gt%22%3A%22%22%7D', '%27%3B--', '%F0%9F%98%80', '0', '-1', 'null', '*', 'f'.repeat(8000)],
  ];

  it.each(BAD)('404 for %.30s, as for an id that nothing has', async (id) => {
    const named: Named = { queueId: id, queueName: 'never-made', jobId: id, deadLetterId: id };
    const unknown = routesOfNamed(NEVER_MADE);
    for (const [n, [method, path, body]] of routesOfNamed(named).entries()) {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await victim.send(method, path, text);
      const [, unknownPath = ''] = unknown[n] ?? [];
      const never = await victim.send(method, unknownPath, text);
      expect([answer.status, answer.text], `${method} ${path}`).toEqual([never.status, never.text]);
      expect(answer.status).toBe(404);
    }
  });

  it('404 for a bad id of a dead letter on a queue that is there', async () => {
    for (const id of BAD) {
      expect(await victim.send('POST', `${dlq}/${id}/replay`), id).toMatchObject({
        status: 404,
        body: { error: 'dead letter not found' },
      });
    }
  });
});

describe('lists', () => {
  const PAGES = [
    ...['0', '-1', '1.5', '1e1', '0x1', '%201', '1%20', 'NaN', '', '9223372036854775808', '%D9%A1', '1&page=2', '+1'],
    ...['Infinity', '1%00', '1,2', '99999999999999999999', 'null'],
  ];
  const LIMITS = ['0', '101', '-5', '1e2', '', 'x', '25&limit=25', '2147483648'];
  const TIMES = [
    ...['infinity', '-infinity', 'epoch', 'now', 'today', '0', '2026', '2026-02-30T00:00:00Z', '2026-13-01T00:00:00Z'],
    ...['2026-01-01T25:00:00Z', '+300000-01-01T00:00:00Z', '2026-01-01T00:00:00+02:00', '2026-01-01T00:00:00', ''],
    ...['2026-01-01', '2026-01-01T00:00:60Z', '2026-01-01T24:00:00Z', '%00', '2026-01-01T00:00:00Z&from=x'],
    ...['2026-01-01T00:00:00%2B24:00', '1767225600000', "2026-01-01T00:00:00Z'--", '9999-12-31T23:59:59-23:59'],
  ];
  const BAD_QUERIES = [
    ...PAGES.map((value) => `page=${value}`),
    ...['page[]=1', 'page[a]=1', 'page[__proto__]=1'],
    ...LIMITS.map((value) => `limit=${value}`),
    ...TIMES.map((value) => `from=${value}`),
    'to=infinity',
    'to=2026-02-30T00:00:00Z',
  ];

  it.each(BAD_QUERIES)('H88 H90 H92 400 for ?%.50s', async (query) => {
    for (const list of [jobs, dlq]) {
      expect(await victim.send('GET', `${list}?${query}`), list).toMatchObject({ status: 400, body: refusal });
    }
  });

  it.each(['held', 'DEAD', '', 'dead&status=dead', 'dead%00', 'dead,pending'])(
    'H91 400 for status=%s',
    async (status) => {
      expect(await victim.send('GET', `${jobs}?status=${status}`)).toMatchObject({ status: 400, body: refusal });
    },
  );

  it.each(['maybe', 'TRUE', '1', '0', 'true&includeReplayed=true', 'toString', '%00'])(
    'H97 400 for includeReplayed=%s',
    async (value) => {
      expect(await victim.send('GET', `${dlq}?includeReplayed=${value}`)).toMatchObject({ status: 400, body: refusal });
    },
  );

  it.each([
    ...['?page=1000000000', '?page=999&limit=100', '?from=2100-01-01T00:00:00Z', '?to=1970-01-01T00:00:00Z'],
    ...['?from=2026-06-01T00:00:00Z&to=2026-01-01T00:00:00Z', '?to=0000-01-01T00:00:00Z'],
    ...['?from=9999-12-31T23:59:59.999Z', '?to=0001-01-01T00:00:00Z'],
  ])('H89 H93 200 and nothing for %s', async (query) => {
    for (const list of [jobs, dlq]) {
      const answer = await victim.send('GET', `${list}${query}`);
      expect(answer, `${list} ${answer.text}`).toMatchObject({ status: 200, body: { jobs: [] } });
    }
  });

  it.each([
    '%25',
    '_',
    '%5C',
    '%5C%5C',
    '.%2A',
    '%28',
    '%27',
    '%24%26',
    '%5Ba-z%5D',
    'A.*(B',
    '%F0%9F%9A%A2',
    '',
    '$1',
  ])('H94 a filter for keys is literal: %s', async (filter) => {
    const answer = await victim.send('GET', `${jobs}?idempotencyKey=${filter}`);
    expect(answer.status, answer.text).toBe(200);
    const contained = 'a.*(b'.includes(decodeURIComponent(filter).toLowerCase());
    expect(answer.body.total).toBe(contained ? 1 : 0);
  });

  it.each(['%00', 'a%00b', 'x'.repeat(10_240), 'a&idempotencyKey=b'])(
    'H94 400 for the filter %.20s',
    async (filter) => {
      expect(await victim.send('GET', `${jobs}?idempotencyKey=${filter}`)).toMatchObject({
        status: 400,
        body: refusal,
      });
    },
  );

  it('H96 takes 2000 parameters, broken escapes and what it does not know', async () => {
    const many = Array.from({ length: 2000 }, (_, n) => `a${n}`).join('&');
    for (const query of [
      many,
      '%zz=%zz',
      '%ff=%ff',
      '=',
      '&&&',
      '__proto__=1',
      'constructor[prototype][x]=1',
      '[]=1',
    ]) {
      expect((await victim.send('GET', `${jobs}?${query}`)).status, query.slice(0, 30)).toBe(200);
    }
  });
});

describe('actions', () => {
  it('H98 400 for a report on a job that awaits none', async () => {
    const { api } = victim;
    const standard = await api.createQueue({ name: 'standard', webhookUrl: (await openReceiver()).url });
    const { id: done } = await api.publish(standard.name);
    await api.waitForStatus(done, 'completed');
    const { id: pending } = await api.publish(victim.queue.name, { payload: {}, delay: 3600 });
    const dead = (await api.listDeadLetters(victim.queue.id)).jobs[0]?.originalJobId ?? '';
    for (const id of [done, pending, dead]) {
      for (const [verb, body] of [['ack'], ['nack', '{}'], ['defer', '{"retryAfter":0}']] as const) {
        expect(await victim.send('POST', `/v1/jobs/${id}/${verb}`, body)).toMatchObject({ status: 400, body: refusal });
      }
    }
  });

  const REASONS = ['1', 'null', '[]', `"${'r'.repeat(100_000)}"`, '"a\\u0000b"', '"\\ud800"'];
  it.each([
    ...['{"retryable":"false"}', '{"retryable":0}', '{"retryable":null}', '{"retryable":[]}'],
    ...REASONS.map((reason) => `{"reason":${reason}}`),
  ])('H99 H100 400 for nack %.40s', async (body) => {
    const answer = await victim.send('POST', `/v1/jobs/${victim.jobId}/nack`, body);
    expect(answer).toMatchObject({ status: 400, body: refusal });
  });

  it.each([
    ...['{}', '{"retryAfter":-1}', '{"retryAfter":-1e-9}', '{"retryAfter":"5"}', '{"retryAfter":1e400}'],
    ...['{"retryAfter":null}', '{"retryAfter":[1]}', '{"retryAfter":true}'],
    ...['"QUEUE"', '"all"', 'null', '1'].map((scope) => `{"retryAfter":1,"scope":${scope}}`),
    ...REASONS.map((reason) => `{"retryAfter":1,"reason":${reason}}`),
  ])('H100 H101 H102 400 for defer %.40s', async (body) => {
    const answer = await victim.send('POST', `/v1/jobs/${victim.jobId}/defer`, body);
    expect(answer).toMatchObject({ status: 400, body: refusal });
  });

  it('H101 takes a defer of 0, and kills for one beyond every lifetime', async () => {
    const { api, queue } = victim;
    const { id } = await api.publish(queue.name, { payload: {} });
    await api.waitForStatus(id, 'awaiting_ack');
    expect((await victim.send('POST', `/v1/jobs/${id}/defer`, '{"retryAfter":0,"scope":"job"}')).status).toBe(200);
    for (const retryAfter of ['1e9', '1e300']) {
      const { id: next } = await api.publish(queue.name, { payload: {} });
      await api.waitForStatus(next, 'awaiting_ack');
      const body = `{"retryAfter":${retryAfter},"scope":"job","reason":"${'r'.repeat(1000)}"}`;
      const answer = await victim.send('POST', `/v1/jobs/${next}/defer`, body);
      const dead = { status: 'dead', lastError: 'retry_after_exceeds_lifetime' };
      expect(answer, answer.text).toMatchObject({ status: 200, body: dead });
    }
  });

  it('H103 404 for the dead letter of another queue, or for a job', async () => {
    const other = await victim.api.createQueue({ name: 'other', webhookUrl: 'http://127.0.0.1:9/' });
    const missing = { status: 404, body: refusal };
    expect(await victim.send('POST', `/v1/queues/${other.id}/dlq/${deadLetterId}/replay`)).toMatchObject(missing);
    expect(await victim.send('POST', `${dlq}/${victim.jobId}/replay`)).toMatchObject(missing);
  });

  it.each([
    ...['{}', '{"all":false}', '{"all":1}', '{"all":null}', `{"all":true,"jobIds":["${UNKNOWN_ID}"]}`],
    ...['{"jobIds":[]}', '{"jobIds":null}', '{"jobIds":{}}', '{"jobIds":[1]}', '{"jobIds":[["x"]]}'],
    `{"jobIds":[${Array(1001).fill('"x"').join(',')}]}`,
  ])('H104 400 for a bulk replay of %.40s', async (body) => {
    expect(await victim.send('POST', `${dlq}/replay`, body)).toMatchObject({ status: 400, body: refusal });
  });

  it('H104 skips ids that are none', async () => {
    const ids = ['', 'x', '\0', '\ud800', "'; drop table job; --", 'F'.repeat(24), 'x'.repeat(10_000), '__proto__'];
    const answer = await victim.send('POST', `${dlq}/replay`, JSON.stringify({ jobIds: ids }));
    expect(answer).toMatchObject({ status: 200, body: { replayed: 0, skipped: ids.length, jobs: [] } });
  });

  it('H105 404 for the second of two deletes, also when they race', async () => {
    const create = () => victim.api.createQueue({ webhookUrl: 'http://127.0.0.1:9/' });
    const { id } = await create();
    expect((await victim.send('DELETE', `/v1/queues/${id}`)).status).toBe(204);
    expect(await victim.send('DELETE', `/v1/queues/${id}`)).toMatchObject({ status: 404, body: refusal });
    const { id: raced } = await create();
    const answers = await Promise.all(Array.from({ length: 10 }, () => victim.send('DELETE', `/v1/queues/${raced}`)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });
});
