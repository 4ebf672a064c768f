import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../src/db/embedded/free-port.ts';
import { checkOut, ROOT } from '../support/checkout.ts';
import { hasGivenServer } from '../support/given-server.ts';
import { startJobferry } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

/** The command line of Prisma in a clone, as CONTRIBUTING.md describes it. */

let folder: string;
let clone: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-prisma-'));
  clone = join(folder, 'clone');
  await checkOut(clone);
  // Nothing listens there: what would be downloaded elsewhere, too, fails at once.
  env = { PATH: process.env.PATH ?? '', HOME: folder, PRISMA_ENGINES_MIRROR: 'http://127.0.0.1:1', NO_COLOR: '1' };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function prisma(...args: string[]): Promise<{ code: number | string | null | undefined; output: string }> {
  return new Promise((resolve) => {
    execFile('npx', ['prisma', ...args], { cwd: clone, env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, output: stdout + stderr }),
    );
  });
}

async function generated(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const made of ['src/db/generated', 'src/graphql/generated']) {
    const entries = await readdir(join(root, made), { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile() && !one.name.startsWith('.'))) {
      const path = join(entry.parentPath, entry.name);
      files[path.slice(root.length)] = await readFile(path, 'utf8');
    }
  }
  return files;
}

it('`prisma validate` and `prisma format` accept the schema without network', async () => {
  expect(await prisma('validate')).toMatchObject({ code: 0, output: expect.stringContaining('is valid') });
  expect(await prisma('format', '--check')).toMatchObject({ code: 0 });
});

it('`prisma generate` makes the same code as a build, without network', async () => {
  expect(await prisma('generate')).toMatchObject({ code: 0 });
  expect(await generated(`${clone}/`)).toEqual(await generated(ROOT));
});

it('`prisma migrate status` names the download of the engine that it cannot make', async () => {
  const { code, output } = await prisma('migrate', 'status');
  expect(code).toBe(1);
  expect(output).toMatch(/^Error: request to http:\/\/127\.0\.0\.1:1\/\S*schema-engine\S* failed/m);
});

it.each([
  ['migrate dev', 'migrate dev'],
  ['migrate dev', 'migrate --schema prisma/schema.prisma dev --name more'],
  ['migrate dev', '--config prisma.config.ts migrate dev'],
  ['db push', 'db push'],
  ['db push', '--config=prisma.config.ts db push'],
])('`prisma %s` is refused, as the models leave out indexes: `%s`', async (command, given) => {
  const { code, output } = await prisma(...given.split(' '));
  expect(code).toBe(1);
  expect(output.trim()).toMatch(new RegExp(`^prisma ${command} would drop .* CONTRIBUTING\\.md .*$`));
});

it('`prisma migrate dev --help` shows its help', async () => {
  const { code, output } = await prisma('migrate', 'dev', '--help');
  expect(code).toBe(0);
  expect(output).toContain('Usage');
});

it('`prisma --config prisma.config.ts validate` needs no network either', async () => {
  const { code, output } = await prisma('--config', 'prisma.config.ts', 'validate');
  expect(output).toContain('is valid');
  expect(code).toBe(0);
});

it.skipIf(hasGivenServer)('`prisma studio` shows the embedded database while the service runs', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'jobferry-studio-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const jobferry = await startJobferry({ env: { DATA_DIR: dataDir } });
  onTestFinished(async () => void (await jobferry.stop()));
  const port = await freePort();
  // Not through npx, which would leave it running when it is stopped.
  const command = ['node_modules/.bin/prisma', 'studio', '--browser', 'none', '--port', String(port)];
  const studio = spawn(process.execPath, command, {
    cwd: clone,
    env: { ...env, DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void studio.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: studio.stdout }).on('line', (line) => lines.push(line));
  await waitFor(() => lines.find((line) => line.includes(`http://localhost:${port}`)), { message: 'studio runs' });
  const page = await fetch(`http://127.0.0.1:${port}/`);
  expect(await page.text()).toContain('/studio.js');
  const answer = await fetch(`http://127.0.0.1:${port}/bff`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ procedure: 'query', query: { sql: 'select name from account', parameters: [] } }),
  });
  expect(await answer.json()).toEqual([null, [{ name: 'default' }]]);
});
