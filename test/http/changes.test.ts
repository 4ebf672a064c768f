import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { CREATED_AT, createdQueue, ID, KEY } from '../support/fake-services.ts';
import { createGate } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * The reads of a client that has changed something need a replica with the change,
 * also if it has not waited for the answer.
 */

const HEAD = `Host: x\r\nAuthorization: Bearer ${KEY}\r\nContent-Type: application/json\r\n`;
const request = (line: string, body: string) =>
  `${line} HTTP/1.1\r\n${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;
const PUBLISHED = { created: true, payloadDiffers: false, job: { id: ID, status: 'pending', createdAt: CREATED_AT } };

describe('a change', () => {
  it.each([
    ['a publish on the short way', request('POST /v1/queues/mails/jobs', '{"payload":{}}'), true],
    ['a publish on the full way', request('POST /v1/queues/mails/jobs', '{"payload":{}}'), false],
    ['an update', request(`PUT /v1/queues/${ID}`, '{"maxAttempts":2}'), true],
    ['a deletion', request(`DELETE /v1/queues/${ID}`, ''), true],
  ])('%s is known when it was made, although its client has left', async (_name, text, hasShortWays) => {
    const gate = createGate();
    const noted: boolean[] = [];
    const closed: boolean[] = [];
    let isMade = false;
    const made = async <T>(result: T) => {
      await gate.opened;
      isMade = true;
      return result as never;
    };
    const api = await testApi({
      services: {
        jobs: { publish: () => made(PUBLISHED) },
        queues: { update: () => made(createdQueue), delete: () => made(undefined) },
      },
      hasShortWays,
      onChange: () => noted.push(isMade),
      watch: (_req, res) => res.once('close', () => closed.push(isMade)),
    });
    const { socket } = api.raw(text);
    await waitFor(() => api.calls.some(({ method }) => /publish|update|delete/.test(method)), { message: 'a change' });
    socket.resetAndDestroy();
    await waitFor(() => closed.length === 1, { message: 'the end of the connection' });
    gate.open();
    await waitFor(() => noted.length > 0, { message: 'the change is noted' });
    expect({ noted, closed }).toEqual({ noted: [true], closed: [false] });
  });
});
