import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Api, ApiQueue } from '../support/api.ts';
import { type Receiver, verifySignature } from '../support/receiver.ts';
import { openReceiver, startService } from '../support/service.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** D26: the source text of a payload goes everywhere byte for byte. Texts are compared, never values. */

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** JSON objects that others wrote, as they wrote them: the manifests of the installed packages. */
async function manifests(): Promise<string[]> {
  const names = await readdir(MODULES);
  const scopes = names.filter((name) => name.startsWith('@'));
  const scoped = await Promise.all(
    scopes.map(async (scope) => (await readdir(join(MODULES, scope))).map((name) => `${scope}/${name}`)),
  );
  const files = [...names, ...scoped.flat()].map((name) => join(MODULES, name, 'package.json')).filter(existsSync);
  return await Promise.all(files.map(async (file) => (await readFile(file, 'utf8')).trim()));
}

let api: Api;

beforeAll(async () => {
  ({ api } = await startService());
});

/** Values that a parse and a second serialisation would change, or that a database could not store. */
const EDGE_CASES: [string, string][] = [
  ['empty', '{}'],
  ['an integer above 2^53', '{"id":9007199254740993,"far":123456789012345678901234567890}'],
  ['numbers beyond a double', '{"big":1e400,"small":-1e-400}'],
  ['minus zero', '{"zero":-0,"point":-0.0}'],
  ['trailing zeros and exponents', '{"a":1.0,"b":1E+2,"c":1e2,"d":100,"e":0.10}'],
  ['too many digits', '{"pi":3.14159265358979323846264338327950288}'],
  ['duplicate keys', '{"a":1,"a":2,"a":{"b":1,"b":2}}'],
  ['key order', '{"b":1,"a":2,"10":3,"9":4,"":5}'],
  ['a NUL escape', '{"nul":"a\\u0000b","\\u0000":0}'],
  ['lone surrogate escapes', '{"high":"\\ud800","low":"\\udc00x","turned":"\\udc00\\ud800","\\ud83d":1}'],
  ['a pair of surrogate escapes', '{"ship":"\\ud83d\\udea2","same":"🚢"}'],
  ['needless escapes', '{"\\u0061":"\\u0062","slash":"\\/","upper":"\\u00E9\\u00e9"}'],
  ['white space inside', '{ "a" :\t[ 1 ,\r\n2 ] ,\n\n  "b":{ }\n}'],
  ['line and paragraph separators', '{"raw":"\u2028\u2029","escaped":"\\u2028\\u2029"}'],
  ['characters of every length', '{"é":"ß€🚢","bom":"\ufeff","del":"\u007f","nonchar":"\uffff"}'],
  ['names of prototypes', '{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":null}'],
  ['names of the envelope', '{"id":"x","queue":"y","payload":{"payload":{}},"attempt":9,"createdAt":null}'],
  ['texts that look like JSON', '{"a":"{\\"payload\\":{}}","b":"}]\\\\","c":"\\\\\\""}'],
  ['texts that a replacement would expand', '{"a":"$& $1 $` $$","b":"%s %d {0}"}'],
  ['100 levels', `${'{"a":'.repeat(99)}{}${'}'.repeat(99)}`],
  ['100 levels of lists', `{"a":${'['.repeat(99)}${']'.repeat(99)}}`],
  ['many members', `{${Array.from({ length: 5000 }, (_, n) => `"k${n}":${n}.0`).join(',')}}`],
  ['a long text', `{"text":"${'ü'.repeat(100_000)}"}`],
];

/** Every answer is a failure on a single attempt, so that each payload also becomes a dead letter. */
async function failingQueue(concurrency = 1): Promise<{ receiver: Receiver; queue: ApiQueue }> {
  const receiver = await openReceiver({ status: 500 });
  const queue = await api.createQueue({ webhookUrl: receiver.url, maxAttempts: 1, concurrency });
  return { receiver, queue };
}

/** @param body the whole request body, with `payload` somewhere in it */
async function publishText(queue: ApiQueue, body: string): Promise<string> {
  const answer = await api.publishRaw(queue.name, body);
  expect(answer.status, answer.text).toBe(201);
  return answer.body.id;
}

function textOf(answer: { status: number; text: string }): string {
  expect(answer.status).toBe(200);
  return answer.text;
}

describe.concurrent('a payload', () => {
  it.each(EDGE_CASES)('arrives and is shown as published: %s', async (_name, payload) => {
    const { receiver, queue } = await failingQueue();
    const id = await publishText(queue, `{"idempotencyKey":"k", "payload" : ${payload} ,"delay":0}`);
    const job = await api.waitForStatus(id, 'dead');
    const [request] = receiver.requests;
    expect(request?.raw.toString('utf8')).toBe(
      `{"id":"${id}","queue":"${queue.name}","payload":${payload},` +
        `"attempt":1,"maxAttempts":1,"createdAt":"${job.createdAt}"}`,
    );
    const signature = request?.headers['x-service-signature'];
    expect(verifySignature(request?.raw ?? Buffer.alloc(0), signature, queue.signingSecret)).toBe(true);

    const member = `"payload":${payload},"`;
    for (const path of [`jobs/${id}`, `queues/${queue.id}/jobs`, `queues/${queue.id}/dlq`]) {
      const text = textOf(await api.patiently('GET', `/v1/${path}`));
      expect(text.split(member), path).toHaveLength(2);
    }
  });

  it('is delivered as published by a replay too', async () => {
    const { receiver, queue } = await failingQueue();
    const payload = '{ "a": 1.0, "a": 9007199254740993, "\\u0000": "\\ud800" }';
    await api.waitForStatus(await publishText(queue, `{"payload":${payload}}`), 'dead');
    const [letter] = (await api.listDeadLetters(queue.id)).jobs;
    const replay = await api.patiently('POST', `/v1/queues/${queue.id}/dlq/${letter?.id}/replay`);
    expect(replay.status).toBe(201);
    const [, request] = await receiver.waitFor(2);
    expect(request?.raw.toString('utf8')).toContain(`"payload":${payload},"`);
  });

  it('a payload of 101 levels is refused', async () => {
    const { queue } = await failingQueue();
    const payload = `${'{"a":'.repeat(100)}{}${'}'.repeat(100)}`;
    const answer = await api.publishRaw(queue.name, `{"payload":${payload}}`);
    expect(answer).toMatchObject({ status: 400, body: { error: { formErrors: expect.any(Array) } } });
  });
});

describe('texts that others wrote, published at once', () => {
  it('arrive and are shown as published', async () => {
    const payloads = await manifests();
    expect(payloads.length).toBeGreaterThan(300);
    const { receiver, queue } = await failingQueue(50);
    // With a key a busy machine may be asked again, even if it does not know whether it has stored the job.
    const publishKeyed = (payload: string, n: number) =>
      waitFor(async () => {
        const { status, body } = await api.publishRaw(queue.name, `{"idempotencyKey":"${n}","payload":${payload}}`);
        always(() => expect([200, 201, 503]).toContain(status));
        return status === 503 ? null : body.id;
      });
    const ids = await Promise.all(payloads.map(publishKeyed));
    expect(new Set(ids).size).toBe(payloads.length);
    await waitFor(async () => (await api.listJobs(queue.id, '?status=dead&limit=1')).total === ids.length);

    expect(receiver.requests).toHaveLength(ids.length);
    const delivered = new Map(receiver.requests.map((request) => [request.json().id, request]));
    for (const [index, id] of ids.entries()) {
      const request = delivered.get(id);
      expect(request?.raw.includes(`"payload":${payloads[index]},"attempt":1,`), id).toBe(true);
      const signature = request?.headers['x-service-signature'];
      expect(verifySignature(request?.raw ?? Buffer.alloc(0), signature, queue.signingSecret)).toBe(true);
    }
    for (const list of ['jobs', 'dlq']) {
      const pages: string[] = [];
      for (let page = 1; page <= Math.ceil(ids.length / 100); page += 1) {
        pages.push(textOf(await api.patiently('GET', `/v1/queues/${queue.id}/${list}?limit=100&page=${page}`)));
      }
      const all = pages.join('\n');
      for (const [index, id] of ids.entries()) {
        expect(all.includes(`"payload":${payloads[index]},"`), `${list} ${id}`).toBe(true);
      }
    }
    const shown = await Promise.all(ids.map((id) => api.patiently('GET', `/v1/jobs/${id}`)));
    for (const [index, answer] of shown.entries()) {
      expect(textOf(answer).includes(`"payload":${payloads[index]},"`), ids[index]).toBe(true);
    }
  });
});
