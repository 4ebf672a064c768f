import { describe, expect, it } from 'vitest';
import { type AttemptSeen, attemptLine } from '../../src/dev/attempts.ts';
import { envLines } from '../../src/dev/run.ts';
import { targetsOf } from '../../src/dev/targets.ts';

describe('a target of `dev`', () => {
  it.each([
    ['http://localhost:3000/jobs', ['jobs']],
    ['http://localhost:3000', ['dev']],
    ['http://localhost:3000/api/Webhooks/E-Mail/?x=1', ['api-webhooks-e-mail']],
    ['http://localhost:3000/jobs, https://localhost:3001/é', ['jobs', 'c3-a9']],
    [`http://localhost/${'x'.repeat(100)}`, ['x'.repeat(64)]],
  ])('%s has the queue %j', (forward, queues) => {
    expect(targetsOf(forward).map(({ queue }) => queue)).toEqual(queues);
  });

  it.each([
    ['localhost:3000', /must have URLs/],
    ['ftp://localhost/', /must have URLs/],
    ['', /must have URLs/],
    ['http://localhost/a,http://localhost:3000/a', /two URLs for the queue a/],
  ])('%s is refused', (forward, message) => {
    expect(() => targetsOf(forward)).toThrow(message);
  });
});

describe('the line of an attempt', () => {
  const attempt: AttemptSeen = {
    ...{
      at: new Date(2026, 0, 31, 9, 8, 7),
      accountId: 'account',
      jobId: 'id',
      queue: 'jobs',
      attempt: 2,
      statusCode: 500,
      error: null,
    },
    ...{ durationMs: 12, answer: 'TypeError: x\n\tat y\u001b[2J' },
  };

  it('has the answer in one line, without control characters', () => {
    expect(attemptLine(attempt, 6)).toBe('09:08:07  jobs    500 in 12 ms, attempt 2 of id: TypeError: x at y [2J');
  });

  it('has the beginning of a long answer, and the failure if there is none', () => {
    expect(attemptLine({ ...attempt, answer: 'x'.repeat(100) }, 4)).toMatch(/: x{59}…$/);
    const silent = { ...attempt, statusCode: null, error: 'timeout', answer: null };
    expect(attemptLine(silent, 4)).toBe('09:08:07  jobs  timeout in 12 ms, attempt 2 of id');
  });
});

it('the lines of .env name each secret by its queue, unless there is one', () => {
  const facts = { url: 'http://u', apiKey: 'k', queues: [{ name: 'a-b', url: '', secret: 's' }] };
  expect(envLines(facts)).toEqual(['JOBFERRY_URL=http://u', 'JOBFERRY_API_KEY=k', 'JOBFERRY_SECRET=s']);
  const two = [...facts.queues, { name: 'c', url: '', secret: 't' }];
  // The variable of the first one keeps its name.
  expect(envLines({ ...facts, queues: two }).slice(2)).toEqual([
    ...['JOBFERRY_SECRET=s', 'JOBFERRY_SECRET_A_B=s', 'JOBFERRY_SECRET_C=t'],
  ]);
});
