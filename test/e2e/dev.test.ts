import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { expressHandler } from '../../packages/client/src/webhook/index.ts';
import { createDevClient } from '../../src/cli/dev/client.ts';
import { removeDataDir } from '../../src/db/embedded/cluster.ts';
import { createApi } from '../support/api.ts';
import { builtService } from '../support/built.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/** `jobferry dev` as a developer runs it: in a folder of their own, with a server that comes and goes. */

interface Event {
  type: string;
  [field: string]: unknown;
}

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-dev-'));
});
afterAll(async () => {
  // As root, the cluster may be elsewhere.
  await removeDataDir(join(folder, '.jobferry'));
  await rm(folder, { recursive: true, force: true });
});

function runDev(...args: string[]) {
  return runDevWith({}, ...args);
}

function runDevWith(variables: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [builtService(), 'dev', '--json', ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, JOBFERRY_PORT: '0', ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const events: Event[] = [];
  let errors = '';
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line)));
  child.stderr.on('data', (bytes) => {
    errors += bytes;
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  const event = (type: string, at = 0) => {
    const gone = ended.then((code) => {
      throw new Error(`it ended with ${code} before the event ${type} (${at}): ${JSON.stringify(events)} ${errors}`);
    });
    const seen = waitFor(() => events.filter((one) => one.type === type)[at] ?? null, { message: `the event ${type}` });
    return Promise.race([seen, gone]);
  };
  const stop = (signal: NodeJS.Signals = 'SIGINT') => {
    child.kill(signal);
    return ended;
  };
  onTestFinished(() => void child.kill('SIGKILL'));
  return { events, event, ended, stop, errors: () => errors };
}

/** Runs `jobferry time` in the folder of `dev`. */
async function time(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const child = promisify(execFile)(process.execPath, [builtService(), 'time', ...args], { cwd: folder });
  return child.catch((error: { stdout: string; stderr: string }) => error);
}

interface Ready {
  url: string;
  apiKey: string;
  queues: [{ name: string; url: string; secret: string }];
}

/** A receiver on a port that it can leave and take again. */
async function openServer(port: number, secret: string): Promise<Server> {
  let deliveries = 0;
  const handle = expressHandler({ secret, onError: () => undefined }, () => {
    deliveries += 1;
    if (deliveries === 1) throw new Error('not yet');
  });
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => closeServer(server));
  return server;
}

function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}

describe('jobferry dev', () => {
  it('delivers to a server that comes and goes, and uses no attempt while it is gone', async () => {
    const port = await lastingPort();
    const dev = runDev('--forward', `http://127.0.0.1:${port}/api/jobs`);
    const { url, apiKey, queues } = (await dev.event('ready')) as unknown as Ready;
    expect(queues).toEqual([
      { id: ID, name: 'api-jobs', url: `http://127.0.0.1:${port}/api/jobs`, secret: expect.any(String) },
    ]);
    const api = createApi(url, apiKey);
    await dev.event('down');
    const { id } = await api.publish('api-jobs');
    expect(await api.getJob(id)).toMatchObject({ status: 'pending', attempts: 0, history: [] });

    const server = await openServer(port, queues[0].secret);
    await dev.event('up');
    expect(await dev.event('attempt')).toMatchObject({ jobId: id, queue: 'api-jobs', attempt: 1, statusCode: 500 });
    expect(await dev.event('attempt', 1)).toMatchObject({ attempt: 2, statusCode: 200 });
    const done = await api.waitForStatus(id, 'completed');
    expect(done.history.map(({ status }) => status)).toEqual(['failed', 'success']);

    // The queue still runs when the next delivery finds nothing there.
    closeServer(server);
    const { id: next } = await api.publish('api-jobs');
    await dev.event('down', 1);
    // Its claim is given back when the delivery has found nothing there, a moment later.
    await waitFor(async () => (await api.getJob(next)).status === 'pending', { message: 'the claim is given back' });
    expect(await api.getJob(next)).toMatchObject({ attempts: 0, history: [] });
    const second = runDev('--fresh');
    expect(await second.ended).toBe(1);
    expect(second.errors()).toMatch(/\.jobferry is in use by another Jobferry \(process \d+\): stop it/);
    expect(await dev.stop()).toBe(0);

    const again = runDev('--forward', `http://127.0.0.1:${port}/api/jobs`);
    const same = (await again.event('ready')) as unknown as Ready;
    expect([same.apiKey, same.queues[0].secret]).toEqual([apiKey, queues[0].secret]);
    await openServer(port, queues[0].secret);
    expect(await again.event('attempt')).toMatchObject({ jobId: next, attempt: 1 });
    expect(await again.stop('SIGTERM')).toBe(0);
  });

  it('has a receiver of its own without --forward, and forgets everything with --fresh', async () => {
    const first = runDev();
    const before = (await first.event('ready')) as unknown as Ready;
    await first.stop();
    const dev = runDev('--fresh');
    const { url, apiKey, queues } = (await dev.event('ready')) as unknown as Ready;
    expect(queues[0].name).toBe('dev');
    expect(apiKey).not.toBe(before.apiKey);
    const guide = await fetch(`${url}/guide/ack-mode.html`);
    expect([guide.status, guide.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
    expect(await guide.text()).toContain('<title>Ack mode');
    const nothing = await fetch(`${url}/guide/nothing`);
    expect([nothing.status, await nothing.text()]).toEqual([404, expect.stringContaining('<a href="/guide/">')]);
    const { id } = await createApi(url, apiKey).publish('dev');
    expect(await dev.event('attempt')).toMatchObject({ jobId: id, queue: 'dev', statusCode: 200, answer: 'received' });

    // The keys of the terminal.
    const keys = createDevClient(url, apiKey);
    expect(await keys.retry(id)).toBe('the job is completed, not pending');
    expect(await keys.runNext()).toBe('no job waits for a later time');
    const api = createApi(url, apiKey);
    const { id: later } = await api.publish('dev', { payload: {}, delay: 3600 });
    expect(await keys.runNext()).toMatch(new RegExp(`^job ${later} is due now instead of at 20`));
    await api.waitForStatus(later, 'completed');
    const { id: queueId } = await createDevClient(url, apiKey).ensureQueue('dev', queues[0].url);
    expect(await keys.togglePause([queueId])).toBe('paused: publishes are accepted, and wait');
    expect(await keys.togglePause([queueId])).toBe('resumed');
    // A dead job is replayed.
    await api.updateQueue(queueId, { webhookUrl: 'http://127.0.0.1:9/', maxAttempts: 1 });
    const { id: dead } = await api.publish('dev');
    await api.waitForStatus(dead, 'dead');
    await api.updateQueue(queueId, { webhookUrl: queues[0].url });
    const sentence = await keys.retry(dead);
    const [, replay = ''] = /was dead and is replayed as (\w+)$/.exec(sentence) ?? [];
    await api.waitForStatus(replay, 'completed');
    expect(await dev.stop()).toBe(0);
  });

  it('follows no variable without JOBFERRY_, and its commands find it beside those of the application', async () => {
    const server = createServer();
    onTestFinished(() => closeServer(server));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ownPort = (server.address() as AddressInfo).port;
    // An address of the machine, so that the database of the application cannot be reached.
    const application = { DATABASE_URL: 'postgres://app@127.0.0.1:9/shop', DATA_DIR: join(folder, 'uploads') };
    const dev = runDevWith({
      ...application,
      DIRECT_DATABASE_URL: 'mysql://app@db/shop',
      NODE_ENV: 'production',
      HOST: '0.0.0.0',
      PORT: String(ownPort),
      LOG_LEVEL: 'verbose',
      ENCRYPTION_KEY: 'base64:of-another-form',
      PUBLIC_URL: 'https://shop.example.com',
      SMTP_URL: 'mail.example.com',
      JOBFERRY_SIGNATURE_HEADER: 'x-own',
    });
    const { url, apiKey } = (await dev.event('ready')) as unknown as Ready;
    expect(new URL(url).hostname).toBe('127.0.0.1');
    // On Linux, a server on all addresses would be on this one, too.
    await expect(fetch(url.replace('127.0.0.1', '127.0.0.2'))).rejects.toThrow('fetch failed');
    const run = async (variables: Record<string, string>, ...args: string[]) => {
      const options = { cwd: folder, env: { PATH: process.env.PATH, ...variables } };
      const child = promisify(execFile)(process.execPath, [builtService(), ...args], options);
      return child.then(
        ({ stdout }) => stdout,
        (error: { stderr: string }) => error.stderr,
      );
    };
    // The error about DATABASE_URL has the word dev, too.
    expect(await run(application, 'queue', 'list', '--json')).toContain('"name":"dev"');
    const { DATABASE_URL, DATA_DIR } = application;
    expect(await run({ DATABASE_URL }, 'queue', 'list', '--json')).toContain('"name":"dev"');
    expect(await run({ DATABASE_URL, DATA_DIR: '.jobferry' }, 'queue', 'list', '--json')).toContain('"name":"dev"');
    expect(await run({ DATA_DIR }, 'publish', 'dev', '--payload', '{}', '--json')).toContain('"id":');
    expect(await run({ LOG_LEVEL: 'verbose' }, 'account', 'list', '--json')).toMatch(/^\[\{"id"/);
    expect(await run({ PUBLIC_URL: 'https://shop.example.com' }, 'sign-in-link')).toContain(url);
    expect(await run(application, 'account', 'list')).toMatch(
      /^jobferry: DATABASE_URL: .*\nA `jobferry dev` runs in this folder: without DATABASE_URL and DATA_DIR the command/,
    );
    expect(await run({ DATA_DIR }, 'account', 'list')).toMatch(
      /^jobferry: DATA_DIR: .*\n.*: without DATA_DIR the command/,
    );

    // Ack mode works without a key, as the address is known.
    const seen: string[] = [];
    const signed: boolean[] = [];
    const receiver = createServer((req, res) => {
      seen.push(String(req.headers['x-jobferry-report-url']));
      signed.push('x-own' in req.headers);
      req.resume().on('end', () => res.end());
    });
    onTestFinished(() => void receiver.close());
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const { port } = receiver.address() as AddressInfo;
    const api = createApi(url, apiKey);
    await api.createQueue({ name: 'acked', webhookUrl: `http://127.0.0.1:${port}/`, mode: 'ack' });
    await api.publish('acked');
    await waitFor(() => seen.length > 0, { message: 'the delivery' });
    expect(signed[0]).toBe(true);
    expect(seen[0]).toMatch(new RegExp(`^${url}/`));
    expect((await fetch(`${seen[0]}/ack`, { method: 'POST' })).status).toBe(200);
    expect(await dev.stop()).toBe(0);
  });

  it('lets time pass by a command', async () => {
    const dev = runDev();
    const { url, apiKey } = (await dev.event('ready')) as unknown as Ready;
    const { id } = await createApi(url, apiKey).publish('dev', { payload: {}, delay: 3600 });
    expect((await time()).stdout).toMatch(new RegExp(`the machine\\.\n.*\n.* dev +${id} +delayed\n.* ${id} +lifetime`));
    expect(JSON.parse((await time('+30m', '--json')).stdout)).toMatchObject({ isSettled: true, passed: [] });
    expect((await time('next')).stdout).toMatch(
      new RegExp(`${id} +delayed\nThe clock is at .* s ahead of the machine's`),
    );
    expect(await dev.event('attempt')).toMatchObject({ jobId: id, statusCode: 200 });
    expect((await time('drain')).stdout).toContain('Nothing happened.');
    expect((await time('2020-01-01T00:00Z')).stderr).toContain('only a reset moves it back');
    expect((await time('soon')).stderr).toContain('WHAT must be next, drain, reset, a duration');
    expect((await time('--data', 'elsewhere')).stderr).toContain('no jobferry dev uses the data folder elsewhere');
    expect(await dev.stop()).toBe(0);

    const again = runDev();
    expect(await again.event('clock')).toMatchObject({
      message: expect.stringMatching(/ahead: `jobferry time reset`/),
    });
    expect((await time('reset')).stdout).toContain('as that of the machine');
    expect(await again.stop()).toBe(0);
  });

  it('deletes no folder of other data', async () => {
    await mkdir(join(folder, 'mine'));
    await writeFile(join(folder, 'mine/notes.txt'), 'mine');
    const dev = runDev('--data', 'mine', '--fresh');
    expect(await dev.ended).toBe(1);
    expect(dev.errors()).toContain('mine has notes.txt, which jobferry dev did not create');
    expect(await readFile(join(folder, 'mine/notes.txt'), 'utf8')).toBe('mine');
  });

  it('names its variables as they are set', async () => {
    const wrong = runDevWith({ JOBFERRY_PORT: 'x', JOBFERRY_LOG_LEVEL: 'verbose' });
    expect(await wrong.ended).not.toBe(0);
    expect(wrong.errors()).toMatch(/JOBFERRY_PORT: must be .*\n.*JOBFERRY_LOG_LEVEL: must be/);
    const server = createServer();
    onTestFinished(() => closeServer(server));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const second = runDevWith({ JOBFERRY_PORT: String(port) });
    expect(await second.ended).toBe(1);
    expect(second.errors()).toContain(
      `port ${port} of 127.0.0.1 is in use: stop the program that listens there, or set JOBFERRY_PORT`,
    );
  });

  it('refuses a URL that is none', async () => {
    const dev = runDev('--forward', 'localhost:3000');
    expect(await dev.ended).toBe(1);
    expect(dev.errors()).toContain('--forward must have URLs such as http://localhost:3000/jobs');
  });
});
