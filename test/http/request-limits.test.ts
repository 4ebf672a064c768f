import { describe, expect, it } from 'vitest';
import { createRequestLimits, RequestRate } from '../../src/http/guards/request-limits.ts';
import type { GraphQLEndpoint } from '../../src/http/index.ts';
import { testApi } from '../support/fake-api.ts';
import { account } from '../support/fake-services.ts';

const graphql: GraphQLEndpoint = { execute: async (_req, res) => void res.end('{}'), page: null };
const keyOf = (id: string) => ({ ...account, actor: { ...account.actor, id } });

describe('a rate of requests', () => {
  it('allows those of a second at once, and then one after the other', () => {
    const rate = new RequestRate();
    const at = (now: number) => {
      const waitMs = rate.waitMs('a', now, 4);
      if (waitMs === 0) rate.take('a', now, 4);
      return waitMs;
    };
    expect([at(0), at(0), at(0), at(0), at(0)]).toEqual([0, 0, 0, 0, 250]);
    expect([at(100), at(250), at(250)]).toEqual([150, 0, 250]);
    expect([at(9000), at(9000), at(9000), at(9000), at(9000)], 'not more after a pause').toEqual([0, 0, 0, 0, 250]);
    expect(rate.waitMs('b', 9000, 4)).toBe(0);
  });

  it('remembers 10 000 holders, and forgets the one that has been idle for longest', () => {
    const rate = new RequestRate();
    rate.take('idle', 0, 1);
    rate.take('busy', 0, 1);
    for (let n = 0; n < 9_998; n += 1) rate.take(`holder ${n}`, 0, 1);
    rate.take('busy', 0, 1);
    rate.take('one more', 0, 1);
    expect([rate.waitMs('idle', 0, 1), rate.waitMs('busy', 0, 1)]).toEqual([0, 2000]);
  });
});

describe('the limits of requests', () => {
  it('hold for a key and for its account, and a refused request takes nothing', () => {
    const count = createRequestLimits({ ofKey: 1, ofAccount: 2 });
    expect(count(keyOf('one'), 0)).toBe(0);
    expect(count(keyOf('one'), 0), 'its own').toBe(1000);
    expect(count(keyOf('two'), 0)).toBe(0);
    expect(count(keyOf('three'), 0), 'of the account').toBe(500);
    expect(count(keyOf('three'), 500)).toBe(0);
  });

  it('the request limits of the account hold for people, too', () => {
    const count = createRequestLimits({ ofKey: 1, ofAccount: 2 });
    const member = { ...account, actor: { type: 'member', id: 'm', label: 'm' } } as const;
    expect([count(member, 0), count(member, 0), count(member, 0)]).toEqual([0, 0, 500]);
  });

  it('the request limits of one account replace those of all accounts, at once', () => {
    const count = createRequestLimits({ ofKey: null, ofAccount: 1000 });
    const own = { ...account, requestsPerSecond: 2 };
    expect([count(own, 0), count(own, 0), count(own, 0)]).toEqual([0, 0, 500]);
    expect(count({ ...own, id: 'another', requestsPerSecond: null }, 0)).toBe(0);
    expect(count({ ...own, requestsPerSecond: 2000 }, 1), 'raised').toBe(0);
    const alone = createRequestLimits({ ofKey: null, ofAccount: null });
    expect([alone(own, 0), alone(own, 0), alone(own, 0)], 'without a limit of all').toEqual([0, 0, 500]);
  });

  it.each([
    ['GET', '/v1/queues', undefined, 'too many requests: try again in 1 s'],
    ['POST', '/v1/queues/mails/jobs', '{"payload":{}}', 'too many requests: nothing was stored, try again in 1 s'],
    ['POST', '/graphql', '{"query":"{ me { label } }"}', 'too many requests: nothing was stored, try again in 1 s'],
  ])('refuse %s %s with 429 and Retry-After', async (method, path, body, error) => {
    const config = { requestRates: { ofKey: 1, ofAccount: null } };
    const api = await testApi({ graphql, config });
    const send = () => api.send(method, path, body === undefined ? {} : { body });
    const answers = await Promise.all(Array.from({ length: 20 }, send));
    expect(answers.filter(({ status }) => status < 300)).not.toEqual([]);
    const refused = answers.find(({ status }) => status === 429);
    expect([refused?.headers['retry-after'], refused?.json]).toEqual(['1', { error }]);
    expect((await api.send(method, path, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
  });

  it('are off by default', async () => {
    const api = await testApi({ graphql });
    const answers = await Promise.all(Array.from({ length: 30 }, () => api.send('GET', '/v1/queues')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});
