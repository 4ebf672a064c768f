import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { builtService } from '../support/built.ts';
import { runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { startJobferry } from '../support/process.ts';
import { openReceiver, type Service, startService } from '../support/service.ts';
import { ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * Commands of people who build with Jobferry that read the standard input, or go on running,
 * and the file of queues at a start.
 */

let service: Service;
let env: Record<string, string>;
let folder: string;

beforeAll(async () => {
  service = await startService();
  env = { JOBFERRY_URL: service.jobferry.baseUrl, JOBFERRY_API_KEY: service.apiKey };
  folder = await mkdtemp(join(tmpdir(), 'jobferry-building-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Begins a command that goes on running, and returns what it prints. */
function begin(...args: string[]) {
  const child = spawn(process.execPath, [builtService(), ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  onTestFinished(() => void child.kill('SIGKILL'));
  const stop = () =>
    new Promise<number | null>((resolve) => {
      child.on('close', resolve);
      child.kill('SIGTERM');
    });
  return {
    lines,
    line: (has: RegExp) => waitFor(() => lines.find((line) => has.test(line)), { message: `${has}` }),
    stop,
  };
}

/** Runs a command with this on its standard input. */
async function pipe(input: string, ...args: string[]): Promise<{ code: number; out: string }> {
  const running = promisify(execFile)(process.execPath, [builtService(), ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  running.child.stdin?.end(input);
  return running.then(
    ({ stdout }) => ({ code: 0, out: stdout }),
    (error: { code: number; stdout: string; stderr: string }) => ({
      code: error.code,
      out: error.stdout + error.stderr,
    }),
  );
}

it.skipIf(!existsSync('/dev/full'))('output that cannot be written is told in one line, and fails', async () => {
  const full = await open('/dev/full', 'w');
  onTestFinished(() => full.close());
  for (const args of [
    ['queue', 'list', '--json'],
    ['job', 'list', '--format', 'ndjson'],
  ]) {
    const child = spawn(process.execPath, [builtService(), ...args], {
      env: { PATH: process.env.PATH, ...env },
      stdio: ['ignore', full.fd, 'pipe'],
    });
    const said = text(child.stderr as Readable);
    const [code] = (await once(child, 'close')) as [number];
    expect([code, await said]).toEqual([1, expect.stringMatching(/^jobferry: the output could not be written: .+\n$/)]);
  }
});

it('a wrong command is refused in two lines, and `help` explains a command', async () => {
  expect(await runJobferry(['qeue', 'list'])).toMatchObject({
    code: 2,
    stderr: 'jobferry: unknown command "qeue list": did you mean "queue list"?\n`jobferry --help` lists the commands\n',
  });
  expect((await runJobferry(['queue', 'lst'])).stderr).toMatch(/\n`jobferry queue --help` lists the commands\n$/);
  const { stdout: help } = await runJobferry(['help', 'publish']);
  expect(help).toMatch(/^jobferry publish QUEUE /);
  const { stdout: overview } = await runJobferry([]);
  expect(Math.max(...overview.split('\n').map((line) => line.length))).toBeLessThan(160);
});

it('a restore of a file that is not there creates no database', async () => {
  const { code, stderr } = await runJobferry(['restore', 'nosuch.file'], { DATA_DIR: join(folder, 'unused') });
  expect([code, stderr]).toEqual([1, 'jobferry: nosuch.file cannot be read: there is no such file\n']);
  expect(existsSync(join(folder, 'unused'))).toBe(false);
});

it('a command that follows ends when nothing reads its output any more, and a service goes on', async () => {
  const receiver = await openReceiver();
  const queue = await service.api.createQueue({ webhookUrl: receiver.url });
  const unread = (args: string[], more: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [builtService(), ...args], {
      env: { PATH: process.env.PATH, ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdout.destroy();
    const said = text(child.stderr);
    return { child, ended: once(child, 'close').then(async ([code]) => [code, await said]) };
  };
  const tail = unread(['job', 'tail']);
  const [port, { url }] = await Promise.all([lastingPort(), createTestDatabase()]);
  const serve = unread(['serve'], { DATABASE_URL: url, PORT: `${port}`, HOST: '127.0.0.1' });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await waitFor(isReady, { message: 'the service to be ready' });
  let hasEnded = false;
  void tail.ended.then(() => {
    hasEnded = true;
  });
  await waitFor(
    async () => {
      if (!hasEnded) await service.api.publish(queue.name);
      return hasEnded;
    },
    { message: 'the command to end', everyMs: 200 },
  );
  expect(await tail.ended).toEqual([0, '']);
  expect(await isReady()).toBe(true);
  serve.child.kill('SIGTERM');
  expect((await serve.ended)[0]).toBe(0);
});

describe('publish', () => {
  it('takes a payload, or one in each line, from the standard input', async () => {
    await service.api.createQueue({ name: 'piped', webhookUrl: 'http://127.0.0.1:9/' });
    expect(await pipe('{"n": 1}\n', 'publish', 'piped')).toEqual({
      code: 0,
      out: expect.stringMatching(/^[0-9a-f]{24}\n$/),
    });
    const many = Array.from({ length: 1200 }, (_, n) => JSON.stringify({ n })).join('\n');
    const { code, out } = await pipe(many, 'publish', 'piped', '--lines', '--delay', '1h', '--json');
    expect(code).toBe(0);
    expect(new Set((JSON.parse(out) as { ids: string[] }).ids).size).toBe(1200);

    expect(await pipe('{"n":1}\n\n[2]\n', 'publish', 'piped', '--lines')).toEqual({
      code: 2,
      out: expect.stringContaining('line 3: the payload must be a JSON object; nothing was published'),
    });
    expect((await pipe('', 'publish', 'piped')).out).toMatch(/the payload is not JSON/);

    const withKeys = ['publish', 'piped', '--lines', '--key-path', 'order.ids.0', '--delay', '1h'];
    const line = (id: unknown, n: number) => `${JSON.stringify({ order: { ids: [id] }, n })}\n`;
    const half = await pipe(line('a', 1) + line(17, 2), ...withKeys);
    expect(half).toEqual({ code: 0, out: 'published 2 of 2\n' });
    const whole = await pipe(line('a', 1) + line(17, 2) + line('c', 3) + line('a', 4), ...withKeys);
    expect(whole).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^published 1 of 4\n2 had been published before\n/),
    });
    expect(whole.out).toMatch(/\nline 4: the key belongs to job [0-9a-f]{24}, which has another payload\n$/);
    const others = Array.from({ length: 30 }, (_, n) => line(`o${n}`, 1)).join('');
    expect((await pipe(others, ...withKeys)).code).toBe(0);
    const different = (await pipe(others.replaceAll('"n":1', '"n":2'), ...withKeys)).out.split('\n');
    expect(different.slice(20)).toEqual([
      ...[expect.stringMatching(/^line 20: /), 'other lines refused: 10 (--json has the reason of each)', ''],
    ]);
    expect(await pipe(line('d', 1) + line(1.5, 2), ...withKeys)).toEqual({
      code: 2,
      out: expect.stringContaining('line 2: order.ids.0 must be a text, or a whole number below 2^53; nothing'),
    });
    expect(await pipe(many, 'publish', 'pipd', '--lines')).toEqual({
      code: 1,
      out: 'jobferry: queue pipd does not exist: did you mean piped?\n',
    });
    const tooLate = await pipe(`\n${many}`, 'publish', 'piped', '--lines', '--delay', '48h');
    expect(tooLate).toEqual({
      code: 1,
      out: expect.stringMatching(/^published 0 of 1200\n1200 lines from 2 to 1201: delay: [^\n]+\n$/),
    });
    const large = `{"text":"${'x'.repeat(1_100_000)}"}`;
    expect(await pipe([large, '{}', large].join('\n'), 'publish', 'piped', '--lines')).toEqual({
      code: 1,
      out: expect.stringMatching(/^published 1 of 3\nlines 1 and 3: the body is larger than [^\n]+\n$/),
    });
  });
});

describe('receiver and job tail', () => {
  it('show what happens to a job', async () => {
    const receiver = begin('receiver', '--script', '500,429:1,200', '--port', '0', '--json');
    const { url } = JSON.parse(await receiver.line(/"ready"/)) as { url: string };
    const queue = await service.api.createQueue({ webhookUrl: url, backoffType: 'fixed', backoffDelay: 0 });
    const tail = begin('job', 'tail', '--queue', queue.name, '--json');
    const failures = begin('job', 'tail', '--failed', '--queue', queue.name);
    // An attempt that ends before the commands have asked for the time is not shown.
    // One that starts later takes as long.
    for (let n = 0; n < 2; n += 1) expect(await runJobferry(['queue', 'list'], env)).toMatchObject({ code: 0 });
    const { id } = await service.api.publish(queue.name, { payload: { to: 'ada' } });
    const deliveries = await waitFor(() => (receiver.lines.length === 4 ? receiver.lines.slice(1) : null), {
      message: 'three deliveries',
    });
    expect(deliveries.map((line) => JSON.parse(line) as object)).toMatchObject([
      { id, attempt: 1, payload: { to: 'ada' }, status: 500 },
      { id, status: 429 },
      { id, status: 200 },
    ]);
    await tail.line(/"SUCCESS"/);
    expect(tail.lines.map((line) => (JSON.parse(line) as { status: string }).status)).toEqual([
      ...['FAILED', 'DEFERRED', 'SUCCESS'],
    ]);
    expect(await failures.line(/ 500 in /)).toContain(id);
    expect(failures.lines).toHaveLength(1);
    expect(await Promise.all([receiver.stop(), tail.stop(), failures.stop()])).toEqual([0, 0, 0]);
  });

  it('a receiver takes what is no envelope, and prints no control characters', async () => {
    const receiver = begin('receiver', '--port', '0');
    const [url = ''] = /http:\S+/.exec(await receiver.line(/listening on/)) ?? [];
    const bodies = [
      '{"id":"0123456789abcdef01234567","queue":{"toString":1}}',
      '{"id":1,"attempt":"\u001b[2J"}',
      '\u001b[2J',
    ];
    for (const body of bodies) expect((await fetch(url, { method: 'POST', body })).status).toBe(200);
    const lines = await waitFor(() => (receiver.lines.length === 4 ? receiver.lines.slice(1) : null), {
      message: 'three lines',
    });
    for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+no envelope[\x20-\x7e]+$/);
  });

  it('a receiver with a secret refuses other signatures, and a port in use is named', async () => {
    const receiver = begin('receiver', '--port', '0', '--secret', 'the right one');
    const [url = ''] = /http:\S+/.exec(await receiver.line(/listening on/)) ?? [];
    const port = new URL(url).port;
    const args = ['send', url, '--payload', '{}', '--secret'];
    expect(await runJobferry([...args, 'the right one'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^200 in/),
    });
    expect(await runJobferry([...args, 'another'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^401 in/),
    });
    const second = await runJobferry(['receiver', '--port', port]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`port ${port} is in use`) });
  });
});

describe('completion', () => {
  it('completes commands and options in bash', async () => {
    const complete = async (...words: string[]) => {
      const script = `source <("$0" "$1" completion bash); COMP_WORDS=(jobferry "\${@:2}"); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ));
        _jobferry; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const args = ['-c', script, process.execPath, builtService(), ...words];
      return (await promisify(execFile)('bash', args)).stdout.trim().split('\n');
    };
    expect(await complete('pu')).toEqual(['publish', 'pull']);
    expect(await complete('queue', 'ro')).toEqual(['rotate']);
    expect(await complete('queue', 'create', 'emails', '--max-a')).toEqual(['--max-attempts']);
    expect(await complete('dev', '--f')).toEqual(['--forward', '--fresh']);
    expect(await runJobferry(['completion', 'tcsh'])).toMatchObject({ code: 2 });
  });

  it('has a script for each shell', async () => {
    expect((await runJobferry(['completion', 'zsh'])).stdout).toContain('compdef _jobferry jobferry');
    expect((await runJobferry(['completion', 'fish'])).stdout).toMatch(
      /^complete -c jobferry .* -a dev -d 'Run Jobferry/m,
    );
  });
});

/** Two of these are all that an account may have in flight. */
const HUGE = { webhookUrl: 'https://shop.example/', concurrency: 498 };

describe('QUEUES_FILE', () => {
  it('gives the first account its queues at each start, of several processes at once', async () => {
    const file = join(folder, 'queues.yaml');
    const write = (concurrency: number) =>
      writeFile(
        file,
        `queues:\n  - { name: declared, webhookUrl: "https://\${HOOK}/", concurrency: ${concurrency}, signingSecret: "\${SECRET}" }\n`,
      );
    await write(3);
    const { url: databaseUrl } = await createTestDatabase();
    const variables = {
      BOOTSTRAP_API_KEY: service.apiKey,
      QUEUES_FILE: file,
      HOOK: 'shop.example',
      SECRET: 's'.repeat(32),
    };
    const started = await Promise.all([1, 2].map(() => startJobferry({ databaseUrl, env: variables })));
    const [first] = started;
    const list = async (of = first) => {
      const response = await fetch(`${of?.baseUrl}/v1/queues`, {
        headers: { authorization: `Bearer ${service.apiKey}` },
      });
      return response.json();
    };
    expect(await list()).toMatchObject([
      { id: ID, name: 'declared', webhookUrl: 'https://shop.example/', concurrency: 3 },
    ]);

    await write(4);
    const third = await startJobferry({ databaseUrl, env: variables });
    expect(await list()).toMatchObject([{ concurrency: 4 }]);
    await Promise.all([...started, third].map((process) => process.kill()));

    // A refusal of the service, such as more than an account may have, does not keep the process from serving.
    await writeFile(file, JSON.stringify({ queues: ['a', 'b', 'c'].map((name) => ({ ...HUGE, name })) }));
    const over = await startJobferry({ databaseUrl, env: variables });
    expect(await list(over)).toMatchObject([{ name: 'declared' }, { name: 'a' }, { name: 'b' }]);
    expect(await over.kill()).toMatchObject({ code: 0 });

    await write(-1);
    const refused = await runJobferry(['serve'], { DATABASE_URL: databaseUrl, ...variables });
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('queues.yaml:2: concurrency: must be') });
    await rm(file);
    const missing = await runJobferry(['serve'], { DATABASE_URL: databaseUrl, ...variables });
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('QUEUES_FILE cannot be read') });
  });
});
