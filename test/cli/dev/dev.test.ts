import { spawnSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AttemptSeen, attemptLine } from '../../../src/cli/dev/attempts.ts';
import { envLines, startDev } from '../../../src/cli/dev/run.ts';
import { targetsOf } from '../../../src/cli/dev/targets.ts';
import { parseConfig } from '../../../src/process/config.ts';

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
    at: new Date(2026, 0, 31, 9, 8, 7),
    accountId: 'account',
    jobId: 'id',
    queue: 'jobs',
    attempt: 2,
    statusCode: 500,
    error: null,
    durationMs: 12,
    answer: 'TypeError: x\n\tat y\u001b[2J',
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
  const facts = { url: 'http://u', apiKey: 'k', queues: [{ id: '1a', name: 'a-b', url: '', secret: 's' }] };
  expect(envLines(facts)).toEqual(['JOBFERRY_URL=http://u', 'JOBFERRY_API_KEY=k', 'JOBFERRY_SECRET=s']);
  const added = { id: '1b', name: 'c', url: '', secret: 't' };
  // The variable of the queue that was there keeps its name, whatever the order of the URLs.
  expect(envLines({ ...facts, queues: [...facts.queues, added] }).slice(2)).toEqual([
    ...['JOBFERRY_SECRET=s', 'JOBFERRY_SECRET_A_B=s', 'JOBFERRY_SECRET_C=t'],
  ]);
  expect(envLines({ ...facts, queues: [added, ...facts.queues] }).slice(2)).toEqual([
    ...['JOBFERRY_SECRET=s', 'JOBFERRY_SECRET_C=t', 'JOBFERRY_SECRET_A_B=s'],
  ]);
  expect(envLines({ ...facts, queues: [] })).toHaveLength(2);
});

describe.skipIf(process.platform === 'win32')('`dev --fresh`', () => {
  const ended = new Error('started');
  const NOBODY = 65_534;

  async function open(pid: number) {
    const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-dev-'));
    onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
    const cluster = join(dataDir, 'postgres');
    await mkdir(cluster);
    const lock = join(cluster, 'postmaster.pid');
    await writeFile(lock, `${pid}\n${cluster}\n`);
    // As root, the user of the server removes its files.
    if (process.getuid?.() === 0) for (const path of [dataDir, cluster, lock]) await chown(path, NOBODY, NOBODY);
    const print = { ready: () => undefined, attempt: () => undefined, note: () => undefined };
    const options = { forward: '', dataDir, isFresh: true, isDiscarded: false, print };
    return { dataDir, cluster, start: () => startDev(parseConfig({}), options, () => Promise.reject(ended)) };
  }

  it('deletes no data under a server that another container has left', async () => {
    const { pid } = spawnSync('true');
    const { cluster, start } = await open(pid);
    const server = createServer().listen(join(cluster, '.s.PGSQL.5432'));
    onTestFinished(() => void server.close());
    await expect(start()).rejects.toThrow('most likely in another container');
    expect(await readdir(cluster)).toContain('postmaster.pid');
  });

  it('is not stopped by a lock whose pid belongs to another process now', async () => {
    const { dataDir, start } = await open(process.pid);
    if (process.platform === 'linux') await expect(start()).rejects.toBe(ended);
    else await expect(start()).rejects.toThrow('stop jobferry dev');
    expect((await readdir(dataDir).catch(() => [])).length > 0).toBe(process.platform !== 'linux');
  });
});
