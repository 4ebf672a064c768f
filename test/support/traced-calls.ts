import { expect } from 'vitest';
import type { Jobferry } from './process.ts';

/** A client that sends a `traceparent`, as one with instrumentation of its own does. */
export function tracedCalls(jobferry: Jobferry, key: string) {
  return async (path: string, body: object, headers: Record<string, string>) => {
    const sent = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers };
    const response = await fetch(`${jobferry.baseUrl}${path}`, {
      method: 'POST',
      headers: sent,
      body: JSON.stringify(body),
    });
    expect(response.ok).toBe(true);
    return (await response.json()) as { id: string };
  };
}

/** Trace ids in the log lines of a job's attempts. */
export const traceIdsOf = ({ logs }: Jobferry, jobId: string) =>
  logs.flatMap((line) => (line.msg === 'attempt' && line.jobId === jobId ? [line.traceId] : []));
