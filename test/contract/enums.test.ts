import { expect, it } from 'vitest';
import { contract } from '../../src/contract/index.ts';

const messagesOf = (result: { error?: { issues: { path: (string | number)[]; message: string }[] } }) =>
  result.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

it.each([
  ['FAILED', ' (did you mean dead?)'],
  ['Done', ' (did you mean completed?)'],
  ['running', ' (did you mean processing?)'],
  ['PENDING', ' (did you mean pending?)'],
  ['nonsense', ''],
])('says which status a job can have, for %s', (status, doubt) => {
  expect(messagesOf(contract.jobs.list.query.safeParse({ status }))).toEqual([
    `status: must be one of pending, processing, awaiting_ack, completed, dead${doubt}`,
  ]);
});

it('repeats no wrong value', () => {
  const wrong = 'x'.repeat(100_000);
  const queue = { name: 'a', webhookUrl: 'http://x/', mode: wrong, ackTimeoutAction: wrong, backoffType: wrong };
  expect(messagesOf(contract.queues.create.body.safeParse(queue))).toEqual([
    'mode: must be one of standard, ack',
    'ackTimeoutAction: must be one of retry, dead',
    'backoffType: must be one of fixed, exponential',
  ]);
  expect(messagesOf(contract.jobs.defer.body.safeParse({ retryAfter: 1, scope: wrong }))).toEqual([
    'scope: must be one of queue, job',
  ]);
});
