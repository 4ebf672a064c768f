import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandResult, runJobferry } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { startJobferry } from '../support/process.ts';
import { openServices } from '../support/services.ts';

/** A start that cannot succeed ends with one line, leaves nothing running, and never costs the only key. */

let port: number;
const taken = createServer();
const folders: string[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  port = (taken.address() as AddressInfo).port;
});

afterAll(async () => {
  taken.close();
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
});

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-start-'));
  folders.push(folder);
  return folder;
}

function expectOneLine({ code, stdout, stderr }: CommandResult, line: string | RegExp): void {
  expect(code).toBe(1);
  expect(stdout).toBe('');
  const words = stderr.split('\n').filter((said) => said !== '' && !said.startsWith('{'));
  expect(words).toEqual([typeof line === 'string' ? line : expect.stringMatching(line)]);
  const problems = stderr.split('\n').filter((said) => /^\{.*"level":"(warn|error)"/.test(said));
  expect(problems).toEqual([]);
}

describe.concurrent('a start', () => {
  it.each(['PORT', 'METRICS_PORT'])(
    'a start on a taken %s ends with one line, and starts no database of its own',
    async (variable) => {
      const dataDir = await emptyFolder();
      const result = await runJobferry(['serve'], { DATA_DIR: dataDir, PORT: '0', [variable]: String(port) });
      expectOneLine(
        result,
        `jobferry: port ${port} of 127.0.0.1 is in use: stop the program that listens there, or set ${variable}`,
      );
      expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    },
  );

  it.each([
    ['192.0.2.1', 'jobferry: 192.0.2.1 is not an address of this machine: set HOST'],
    ['nowhere.invalid', 'jobferry: the host name nowhere.invalid has no address: set HOST'],
  ])('a start on the host %s ends with one line', async (HOST, line) => {
    expectOneLine(await runJobferry(['serve'], { DATA_DIR: await emptyFolder(), HOST }), line);
  });

  it('a start that fails makes no key, and the next good one shows it', async () => {
    const { url } = await createTestDatabase({ empty: true });
    expectOneLine(await runJobferry(['serve'], { DATABASE_URL: url, PORT: String(port) }), /is in use/);
    const jobferry = await startJobferry({ databaseUrl: url });
    expect(jobferry.output.join('\n')).toMatch(/jf_[0-9A-Za-z]{46}/);
    await jobferry.kill('SIGKILL');
  });

  it('a start that fails after the key was made has shown it', async () => {
    const { url } = await createTestDatabase();
    const { db } = openServices(url);
    // Refuses the worker its number: the first thing that is wanted of the database after the key.
    await db.query('drop sequence jobferry_worker_id_seq');
    const { code, stdout, stderr } = await runJobferry(['serve'], { DATABASE_URL: url });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^jobferry: .*jobferry_worker_id_seq/m),
    });
    expect(stdout).toMatch(/jf_[0-9A-Za-z]{46}/);
    expect(stdout).not.toMatch(/listening/);
  });

  it.skipIf(hasGivenServer)('leaves no server running when its own database is refused', async () => {
    const dataDir = await emptyFolder();
    const env = { DATA_DIR: dataDir };
    expect(await runJobferry(['migrate'], env)).toMatchObject({ code: 0 });
    await writeFile(join(dataDir, 'postgres', 'local.conf'), 'fsync = off\n');
    expectOneLine(await runJobferry(['serve'], env), /^jobferry: PostgreSQL runs with fsync off/);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  });

  it.skipIf(hasGivenServer)('survives commands that are run during the first start, and so do they', async () => {
    const dataDir = await emptyFolder();
    const starting = startJobferry({ env: { DATA_DIR: dataDir } });
    let isReady = false;
    const noted = starting.finally(() => {
      isReady = true;
    });
    const results: CommandResult[] = [];
    noted.catch(() => undefined);
    while (!isReady) results.push(await runJobferry(['queue', 'list'], { DATA_DIR: dataDir }));
    const jobferry = await noted;
    for (const { code, stderr } of results) {
      if (code === 0) continue;
      // A command that comes between two steps of the start takes the server for one that was left running,
      // and logs that.
      const said = stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
      expect(said).toEqual([
        expect.stringMatching(
          /^jobferry: (?:no database in|process \d+ is creating the database in|the database has no tables|the database is of) /,
        ),
      ]);
    }
    expect(await runJobferry(['queue', 'list'], { DATA_DIR: dataDir })).toMatchObject({ code: 0, stderr: '' });
    await jobferry.kill();
  });

  it('names the folder that it cannot use', async () => {
    const dataDir = await emptyFolder();
    const file = join(dataDir, 'file');
    await writeFile(file, '');
    const result = await runJobferry(['serve'], { DATA_DIR: join(file, 'data') });
    expectOneLine(result, /^jobferry: DATA_DIR .*file\/data cannot be used: /);
    expectOneLine(
      await runJobferry(['serve'], { DATA_DIR: file }),
      /^jobferry: DATA_DIR .*file cannot be used: .* is a file$/,
    );
  });

  // Node makes no folder there and does not give up either: it looks for a parent that is missing.
  it.runIf(existsSync('/proc/self'))('names a folder that cannot be made', async () => {
    const result = await runJobferry(['migrate'], { DATA_DIR: '/proc/jobferry/data' });
    expectOneLine(result, /^jobferry: DATA_DIR \/proc\/jobferry\/data cannot be used: ENOENT.* '\/proc\/jobferry'$/);
  });

  // Root may write everywhere but to a file system that is read-only.
  it.runIf(process.getuid?.() !== 0)('names a folder that it may not write to, empty or with a database', async () => {
    const dataDir = await emptyFolder();
    await chmod(dataDir, 0o555);
    const refusal = /^jobferry: DATA_DIR .* cannot be used: EACCES/;
    expectOneLine(await runJobferry(['serve'], { DATA_DIR: dataDir }), refusal);
    await chmod(dataDir, 0o755);
    await mkdir(join(dataDir, 'postgres'), { mode: 0o555 });
    expectOneLine(await runJobferry(['serve'], { DATA_DIR: dataDir }), refusal);
  });
});
