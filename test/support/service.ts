import { type Api, createApi } from './api.ts';
import { createTestDatabase } from './database.ts';
import { atEndOfFile } from './end-of-file.ts';
import { type Jobferry, startJobferry } from './process.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';

const API_KEY = 'key-of-the-bootstrap-account';

/** One process with API and worker on a database of its own, and a client with its first key. */
export async function startService(
  env: Record<string, string> = {},
): Promise<{ api: Api; jobferry: Jobferry; databaseUrl: string }> {
  const { url: databaseUrl } = await createTestDatabase();
  const jobferry = await startJobferry({ databaseUrl, env: { BOOTSTRAP_API_KEY: API_KEY, ...env } });
  return { api: createApi(jobferry.baseUrl, API_KEY), jobferry, databaseUrl };
}

/** A receiver that closes by itself when the test file is done. */
export async function openReceiver(respond: ReceiverOptions['respond'] = {}): Promise<Receiver> {
  const receiver = await startReceiver({ respond });
  atEndOfFile(() => receiver.close());
  return receiver;
}

/** Lets a test decide when a webhook answers, instead of guessing how long something takes. */
export function createGate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** Rounding to milliseconds on both sides, and the drift between monotonic and wall clock. */
export const CLOCK_SLACK_MS = 5;

/** Milliseconds since the epoch. */
export function at(timestamp: string | undefined): number {
  if (timestamp === undefined) throw new Error('there is no such timestamp');
  return Date.parse(timestamp);
}
