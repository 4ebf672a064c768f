import { describe, expect, it } from 'vitest';
import { type HostileAnswer, startVictim } from '../support/hostile.ts';
import { fieldRefusal, refusal } from '../support/shapes.ts';

/**
 * H56 to H85 of the hostile inputs (docs/invariants.md): values in the bodies of publish, create
 * and update. Bounds of the queue's settings are in routes-queues, payloads that must survive in verbatim,
 * and what races (H71, H75, H84) in racing and plans.
 */

const victim = startVictim();

let names = 0;
const newName = () => `hostile-${++names}`;

/** @param members JSON source text, because `JSON.stringify` could not write some of it */
const publish = (members: string): Promise<HostileAnswer> =>
  victim.send('POST', `/v1/queues/${victim.queue.name}/jobs`, `{"delay":86400${members}}`);

/** Takes the queue away again: an account's concurrency is bounded. */
async function create(members: string, name = JSON.stringify(newName())): Promise<HostileAnswer> {
  const webhookUrl = members.includes('"webhookUrl"') ? '' : '"webhookUrl":"http://127.0.0.1:9/"';
  const parts = [name === '' ? '' : `"name":${name}`, webhookUrl, members].filter((part) => part !== '');
  const answer = await victim.send('POST', '/v1/queues', `{${parts.join(',')}}`);
  if (answer.status === 201) await victim.send('DELETE', `/v1/queues/${answer.body.id}`);
  return answer;
}

const update = (members: string): Promise<HostileAnswer> =>
  victim.send('PUT', `/v1/queues/${victim.queue.id}`, `{${members}}`);

describe('publish', () => {
  it.each(['', ',"payload":null', ',"payload":[]', ',"payload":"{}"', ',"payload":1', ',"Payload":{}'])(
    'H56 400 for a payload that is no object: %s',
    async (members) => {
      expect(await publish(members)).toMatchObject({ status: 400, body: fieldRefusal('payload') });
    },
  );

  it.each([
    ['H57 empty', '{}'],
    ['H26 names of prototypes', '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'],
    ['H58 numbers', '{"a":9007199254740993,"b":-0,"c":1.0,"d":1e400,"e":1E+2}'],
    ['H59 a NUL escape', '{"a":"\\u0000"}'],
    ['H60 a lone surrogate escape', '{"a":"\\ud800"}'],
    ['H61 duplicates and white space', '{ "b" : 1, "a":2 ,"b":3 }'],
    ['H62 markup', '{"a":"</script><!--","b":"\u2028\u202e"}'],
  ])('%s: the payload is shown as it came', async (_name, payload) => {
    const answer = await publish(`,"payload":${payload}`);
    expect(answer.status, answer.text).toBe(201);
    expect((await victim.send('GET', `/v1/jobs/${answer.body.id}`)).text).toContain(`"payload":${payload},`);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('H26 takes nothing from a __proto__ beside the payload', async () => {
    const inherited = await publish(',"__proto__":{"payload":{},"idempotencyKey":"x"}');
    expect(inherited).toMatchObject({ status: 400, body: fieldRefusal('payload') });
  });

  it.each([',"payload":{},"payload":{}', ',"payload":{},"p\\u0061yload":{"a":1}', ',"payload":1,"payload":{}'])(
    'H27 400 for two payloads: %s',
    async (members) => {
      expect(await publish(members)).toMatchObject({ status: 400, body: fieldRefusal('payload') });
    },
  );

  it.each(['""', `"${'k'.repeat(256)}"`, '1', 'null', '[]', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"'])(
    'H63 H64 H65 400 for the idempotencyKey %.20s',
    async (key) => {
      const answer = await publish(`,"payload":{},"idempotencyKey":${key}`);
      expect(answer).toMatchObject({ status: 400, body: fieldRefusal('idempotencyKey') });
    },
  );

  it('H66 H67 compares keys byte by byte, and takes them literally', async () => {
    const alike = ['é', 'e\u0301', 'É', 'é ', ' é', '%', '_', '$1', "'; drop table job; --", '\\', 'NULL', 'null'];
    const keys = [...alike, '🚢'.repeat(127), `${'🚢'.repeat(127)}x`, 'k'.repeat(255), '__proto__', '\u{1f6a2}\u200d'];
    const ids = new Set<string>();
    for (const round of [201, 200]) {
      for (const key of keys) {
        const answer = await publish(`,"payload":{},"idempotencyKey":${JSON.stringify(key)}`);
        expect(answer.status, `${key} ${answer.text}`).toBe(round);
        ids.add(answer.body.id);
      }
    }
    expect(ids.size).toBe(keys.length);
  });

  it.each(['-0.001', '86400.001', '"1"', 'null', '1e400', '-1e400', 'true', '[1]', '{}'])(
    'H68 400 for a delay of %s',
    async (delay) => {
      const answer = await publish(`,"payload":{},"delay":${delay}`);
      expect(answer).toMatchObject({ status: 400, body: fieldRefusal('delay') });
    },
  );

  it.each(['0', '-0', '1e-7', '0.001', '86400'])('H68 201 for a delay of %s', async (delay) => {
    expect((await publish(`,"payload":{},"delay":${delay}`)).status).toBe(201);
  });

  it('H69 ignores fields that it does not know', async () => {
    const answer = await publish(',"payload":{},"status":"dead","id":"x","attempts":9,"accountId":"y","":0');
    expect(answer).toMatchObject({ status: 201, body: { status: 'pending' } });
  });

  it.each([
    ...['UPPER', 'a'.repeat(65), 'a%0a', '..%2f', '%F0%9F%98%80', 'a%20b', '%00', 'a.b', '%5C', '%27%20or%201=1', '.'],
    ...['a%EF%BD%81', '%E2%80%AE', '__proto__', 'constructor', 'victim%00', 'victim%20', 'VICTIM', '*'],
  ])('H70 404 for the queue %s', async (name) => {
    const answer = await victim.send('POST', `/v1/queues/${name}/jobs`, '{"payload":{}}');
    expect(answer).toMatchObject({ status: 404, body: refusal });
  });
});

describe('create and update', () => {
  it.each([
    ...['""', `"${'a'.repeat(65)}"`, '"A"', '"a b"', '"a.b"', '"a\\n"', '"\\na"', '"\uff41"', '"é"', '"a\\u0000"'],
    ...['null', '1', '[]', '["a"]', '{}', '"\\ud800"', '"../a"', '"%61"', '', `"${'a'.repeat(100_000)}"`],
  ])('H74 400 for the name %.20s', async (name) => {
    expect(await create('', name)).toMatchObject({ status: 400, body: fieldRefusal('name') });
  });

  it.each(['"-"', '"_"', '"9"', `"${'a'.repeat(64)}"`, '"__proto__"', '"constructor"', '"jobs"', '"dlq"'])(
    'H74 201 for the name %.20s',
    async (name) => {
      expect((await create('', name)).status).toBe(201);
    },
  );

  const NUMBERS = [
    ...['maxAttempts', 'maxDefers', 'concurrency', 'rateLimitMax', 'rateLimitWindow', 'ackTimeout', 'backoffDelay'],
  ];
  const NO_NUMBERS = ['"3"', '""', 'true', '[]', '[3]', '{}', '1e400', '-1e400', '-1', '1e300', '1e-400e', '0x10'];
  it.each(NUMBERS)('H76 to H81 400 for a %s that is no number, or beyond all bounds', async (field) => {
    for (const value of NO_NUMBERS) {
      for (const answer of [await create(`"${field}":${value}`), await update(`"${field}":${value}`)]) {
        expect(answer.status, value).toBe(400);
        expect(answer.body.error, value).toEqual({ formErrors: expect.any(Array), fieldErrors: expect.any(Object) });
      }
    }
  });

  it.each(['3.0', '3e0', '0.3e1', '3.0000000000000000001'])('H76 takes the whole number %s', async (value) => {
    expect((await create(`"maxAttempts":${value}`)).body.maxAttempts).toBe(3);
  });

  it.each([
    ['dlqEnabled', ['"true"', '1', '0', 'null', '""', '[]']],
    ['mode', ['"ACK"', '"ack "', '"async"', 'null', '1', '["ack"]', '"__proto__"']],
    ['backoffType', ['"Fixed"', '"linear"', 'null', '{}']],
    ['ackTimeoutAction', ['"DEAD"', '"ignore"', 'null', 'false']],
    ['template', ['"OPENAI"', '"other"', '"constructor"', 'null', '1', '["openai"]']],
  ])('H82 H83 400 for a %s that is unknown', async (field, values) => {
    for (const value of values) {
      const refused = { status: 400, body: fieldRefusal(field) };
      expect(await create(`"${field}":${value}`), value).toMatchObject(refused);
      expect(await update(`"${field}":${value}`), value).toMatchObject(refused);
    }
  });

  it.each([
    ...['"x"', '""', '"//127.0.0.1/"', '"ftp://example.com/"', '"file:///etc/passwd"', '"javascript:alert(1)"', '1'],
    ...['"data:,x"', '"ws://example.com/"', '"gopher://127.0.0.1:6379/_x"', '"http://"', '"http://[::1%25lo]/"'],
    ...['"http://user:pass@example.com/"', '"http://example.com@127.0.0.1/"', '"http://example.com:0/"', 'null'],
    ...['"http://example.com:65536/"', '"http://256.256.256.256/"', '"http://127.0.0.1%00.example.com/"', '[]'],
    ...['"http://example.com/\\u0000"', '"http://example.com/\\r\\nx: y"', '"http://a b/"', '"\\ud800"'],
    `"http://example.com/${'a'.repeat(5000)}"`,
  ])('H85 400 for the webhookUrl %.40s', async (url) => {
    const refused = { status: 400, body: fieldRefusal('webhookUrl') };
    expect(await create(`"webhookUrl":${url}`)).toMatchObject(refused);
    expect(await update(`"webhookUrl":${url}`)).toMatchObject(refused);
  });
});
