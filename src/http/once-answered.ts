import type { ServerResponse } from 'node:http';

/**
 * Calls back when the work of a request is done and its answer is complete, whether or not its client is still there.
 * `finish` does not come for a client that has left, and `close` comes when it leaves, while the work goes on.
 */
export function onceAnswered(res: ServerResponse, callback: () => void): void {
  const end = res.end as (...parts: unknown[]) => ServerResponse;
  res.end = (...parts: unknown[]) => {
    callback();
    return end.apply(res, parts);
  };
}
