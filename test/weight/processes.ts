import { readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from '../support/api.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Figures, figure, type Group } from './figures.ts';
import { openCounters } from './server.ts';

const KEY = 'key-of-the-bootstrap-account';
const QUEUE = 'mails';
const PAYLOAD = { to: 'someone@example.com', template: 'welcome', n: 12345, tags: ['a', 'b', 'c'] };
/** Jobs before the first window. */
const WARM_UP = 60;
/** Windows are short: in most of them a process does nothing but these jobs, on a busy machine, too. */
const WINDOWS = { count: 40, jobs: 3 };
/** The window that counts, from the lightest one on. Statements at times of a process's own are in the heavier ones. */
const TYPICAL = 0.2;
const [NODE_MAJOR] = process.versions.node.split('.');

/**
 * Code stays in the interpreter, so what it allocates does not depend on which functions the compiler has reached. The
 * young generation is so large that nothing is collected meanwhile.
 */
const NODE = ['--no-opt', '--no-maglev', '--no-sparkplug', '--max-semi-space-size=256', '--min-semi-space-size=256'];

async function startProbed(databaseUrl: string, role: 'api' | 'worker') {
  const file = join(tmpdir(), `jobferry-heap-${process.pid}-${role}.json`);
  atEndOfFile(() => rm(file, { force: true }));
  const probe = ['--import', new URL('heap-probe.mjs', import.meta.url).href];
  const env = { BOOTSTRAP_API_KEY: KEY, HEAP_PROBE_FILE: file, ALLOW_UNSAFE_DURABILITY: '1' };
  const jobferry = await startJobferry({ databaseUrl, role, env, node: [...NODE, ...probe] });
  let readings = 0;
  return {
    ...jobferry,
    async read(): Promise<{ heapUsed: number; systemCalls: number }> {
      const io = await readFile(`/proc/${jobferry.pid}/io`, 'utf8');
      const counted = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(io)?.[1]);
      const systemCalls = counted('syscr') + counted('syscw');
      readings += 1;
      process.kill(jobferry.pid, 'SIGWINCH');
      const { heapUsed } = await waitFor(
        async () => {
          const read = JSON.parse(await readFile(file, 'utf8'));
          return read.readings === readings && (read as { heapUsed: number });
        },
        { everyMs: 2, message: 'a reading of the heap' },
      );
      return { heapUsed, systemCalls };
    },
  };
}

/** Groups that another version of Node fills otherwise. */
export const OF_NODE = {
  api: `API process on Node ${NODE_MAJOR}, one publish at a time`,
  worker: `worker process on Node ${NODE_MAJOR}, one delivery at a time`,
};

/** Measures an API process and a worker process, with one job at a time. */
export async function weighProcesses(databaseUrl: string): Promise<Figures> {
  const receiver = await openReceiver();
  const api = await startProbed(databaseUrl, 'api');
  const worker = await startProbed(databaseUrl, 'worker');
  await createApi(api.baseUrl, KEY).createQueue({ name: QUEUE, webhookUrl: `${receiver.url}/` });
  const counters = await openCounters(databaseUrl);
  const publish = publisher(api.baseUrl);

  const runJobs = async (count: number) => {
    for (let n = 0; n < count; n += 1) {
      const id = await publish();
      await waitFor(() => counters.isCompleted(id), { everyMs: 1, message: `the end of job ${id}` });
    }
  };
  const read = async () => ({ calls: await counters.calls(), api: await api.read(), worker: await worker.read() });
  const windowOf = async (jobs: number) => {
    const before = await read();
    await runJobs(jobs);
    return { before, after: await read() };
  };
  type Reading = Awaited<ReturnType<typeof read>>;

  await runJobs(WARM_UP);
  // A reading costs a little itself.
  const empty = [await windowOf(0), await windowOf(0), await windowOf(0)];
  const windows: typeof empty = [];
  for (let n = 0; n < WINDOWS.count; n += 1) windows.push(await windowOf(WINDOWS.jobs));
  const perJob = (of: (reading: Reading) => number): number => {
    const differences = (all: typeof empty) => all.map(({ before, after }) => of(after) - of(before));
    return (typical(differences(windows)) - typical(differences(empty))) / WINDOWS.jobs;
  };

  const statements: Group = {};
  for (const text of new Set(windows.flatMap(({ after }) => [...after.calls.keys()]))) {
    const calls = perJob((reading) => reading.calls.get(text) ?? 0);
    if (calls > 0) statements[nameOf(text)] = figure(calls, 'per job');
  }
  const ofProcess = (role: 'api' | 'worker'): Group => ({
    'system calls that read or write': figure(
      perJob((reading) => reading[role].systemCalls),
      'per job',
      0.05,
    ),
    'bytes allocated': figure(
      perJob((reading) => reading[role].heapUsed),
      'per job',
      0.02,
    ),
  });
  return {
    'statements of two processes, one job at a time': statements,
    [OF_NODE.api]: ofProcess('api'),
    [OF_NODE.worker]: ofProcess('worker'),
  };
}

function typical(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length * TYPICAL)] as number;
}

/** The start of a statement, as the name of its figure. */
function nameOf(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 60);
}

/** Publishes over one connection. @returns the id */
function publisher(baseUrl: string): () => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  atEndOfFile(() => agent.destroy());
  const body = JSON.stringify({ payload: PAYLOAD });
  const headers = {
    authorization: `Bearer ${KEY}`,
    'content-type': 'application/json',
    'content-length': String(body.length),
  };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(`${baseUrl}/v1/queues/${QUEUE}/jobs`, { agent, method: 'POST', headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part) => {
          text += part;
        });
        answer.on('end', () => {
          if (answer.statusCode === 201) resolve(JSON.parse(text).id);
          else reject(new Error(`a publish was answered ${answer.statusCode}: ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}
