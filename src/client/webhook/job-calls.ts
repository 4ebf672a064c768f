import { JobferryConnectionError } from '../errors.ts';
import { exchange, toSegment } from '../exchange.ts';
import type { DeferInput, NackInput } from '../models.ts';
import type { JobferryClient } from '../types.ts';
import type { Api } from './options.ts';

/** The answer of each route of a job: 200 with the job, or a refusal. */
export type JobAnswer = Awaited<ReturnType<JobferryClient['jobs']['get']>>;

/** The routes of one job that a report needs. */
export interface JobCalls {
  get(): Promise<JobAnswer>;
  ack(body: { attempt: number }): Promise<JobAnswer>;
  nack(body: NackInput): Promise<JobAnswer>;
  defer(body: DeferInput): Promise<JobAnswer>;
}

const TIMEOUT_MS = 30_000;

/**
 * Calls the REST API with `fetch` alone: a webhook bundle stays small without ts-rest and zod. Each call is sent once,
 * and rejects with a `JobferryConnectionError` when no answer arrives.
 */
export function createJobCalls({ baseUrl, apiKey }: Api, id: string): JobCalls {
  const job = `${baseUrl}/v1/jobs/${toSegment(id, 'id')}`;
  const call = async (method: string, url: string, body?: object): Promise<JobAnswer> => {
    const headers = { authorization: `Bearer ${apiKey}`, ...(body && { 'content-type': 'application/json' }) };
    const outgoing = { method, url, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await exchange((...args) => fetch(...args), outgoing, TIMEOUT_MS).catch((error: unknown) => {
      throw new JobferryConnectionError(`${method} ${url}`, 1, error);
    });
    return answer as JobAnswer;
  };
  return {
    get: () => call('GET', job),
    ack: (body) => call('POST', `${job}/ack`, body),
    nack: (body) => call('POST', `${job}/nack`, body),
    defer: (body) => call('POST', `${job}/defer`, body),
  };
}
