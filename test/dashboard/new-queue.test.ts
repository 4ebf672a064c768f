import { describe, expect, it } from 'vitest';
import {
  newQueueInput,
  type Template,
  textOfTemplate,
} from '../../packages/dashboard/features/first-run/model/new-queue.ts';
import { SHOWN_DEFAULTS } from '../support/shown-settings.ts';

const answers = {
  name: ' orders ',
  webhookUrl: ' https://example.com/ ',
  mode: 'STANDARD',
  concurrency: '',
  maxAttempts: '',
};
const other = { id: 'id1', webhookUrl: 'https://other.example/' };

describe('the settings of a template in words', () => {
  const template: Omit<Template, 'name'> = {
    ...SHOWN_DEFAULTS,
    mode: 'ACK',
    ackTimeout: 600,
  };
  const text = (change: Partial<Template> = {}) =>
    textOfTemplate({ ...template, ...change }).replaceAll(/[\u00a0\u202f]/g, ' ');

  it('say what limits a job, and what ends it', () => {
    expect(text()).toBe(
      'A report within 10 min, else the attempt has failed. 5 at a time, no rate limit. 3 attempts, exponential back-off from 2 s. At most 50 holds for backpressure. Dead letters are kept.',
    );
    expect(text({ mode: 'STANDARD', rateLimitMax: 1, maxAttempts: 1, backoffType: 'FIXED', dlqEnabled: false })).toBe(
      '5 at a time, 1 delivery in 1 min. 1 attempt, a fixed back-off of 2 s. At most 50 holds for backpressure. No dead letters.',
    );
  });
});

describe('the answers of the form of a new queue', () => {
  it('leave out what is empty, so that the server has its own value', () => {
    const input = { name: 'orders', webhookUrl: 'https://example.com/', mode: 'STANDARD' };
    expect(newQueueInput('defaults', answers, null)).toEqual({ input });
    expect(newQueueInput('defaults', { ...answers, concurrency: ' 9', rateLimitWindow: '0.5' }, null)).toEqual({
      input: { ...input, concurrency: 9, rateLimitWindow: 0.5 },
    });
  });

  it('name a template, whose mode is that of the queue unless another is chosen', () => {
    const input = { name: 'orders', webhookUrl: 'https://example.com/', template: 'openai' };
    expect(newQueueInput('template:openai', { ...answers, mode: '' }, null)).toEqual({ input });
  });

  it('take the address of the queue that is copied if there is no other', () => {
    expect(newQueueInput('copy', { name: 'b', webhookUrl: '', mode: 'ACK' }, other)).toEqual({
      input: { name: 'b', webhookUrl: other.webhookUrl, mode: 'ACK', copyOf: 'id1' },
    });
    expect(newQueueInput('copy', answers, null)).toEqual({
      problems: new Map([['copyOf', 'must be the name of a queue']]),
    });
  });

  it('are refused where a number is none, which would mean that nothing was given', () => {
    expect(newQueueInput('defaults', { ...answers, concurrency: 'ten', rateLimitWindow: '1e3' }, null)).toEqual({
      problems: new Map([
        ['concurrency', 'must be a whole number'],
        ['rateLimitWindow', 'must be a number'],
      ]),
    });
  });
});
