import { type Api, createApi } from './api.ts';
import { createTestDatabase } from './database.ts';
import { atEndOfFile } from './end-of-file.ts';
import { startInProcess } from './in-process.ts';
import { type Jobferry, type Running, startJobferry } from './process.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';

const API_KEY = 'key-of-the-bootstrap-account';

export interface Service<Kind extends Running = Running> {
  /** With its first key. */
  api: Api;
  apiKey: string;
  jobferry: Kind;
  databaseUrl: string;
}

/** API and worker on a database of their own, inside the process of the test. */
export function startService(env: Record<string, string> = {}): Promise<Service> {
  return startWith(startInProcess, env);
}

/** As `startService`, as a process: for tests of processes. */
export function startServiceProcess(env: Record<string, string> = {}): Promise<Service<Jobferry>> {
  return startWith(startJobferry, env);
}

async function startWith<Kind extends Running>(
  start: (options: { databaseUrl: string; env: Record<string, string> }) => Promise<Kind>,
  env: Record<string, string>,
): Promise<Service<Kind>> {
  const { url: databaseUrl } = await createTestDatabase();
  const jobferry = await start({ databaseUrl, env: { BOOTSTRAP_API_KEY: API_KEY, ...env } });
  return { api: createApi(jobferry.baseUrl, API_KEY), apiKey: API_KEY, jobferry, databaseUrl };
}

/** A receiver that closes by itself when the test file is done. */
export async function openReceiver(respond: ReceiverOptions['respond'] = {}): Promise<Receiver> {
  const receiver = await startReceiver({ respond });
  atEndOfFile(() => receiver.close(), { isAwaited: true });
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
