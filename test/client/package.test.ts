import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contract } from '../../src/contract/index.ts';
import { MODULES, packBuilt, ROOT } from '../support/checkout.ts';
import { TYPED_USE } from './typed-use.ts';

/**
 * `@jobferry/client` as users get it, in an empty project of theirs. `npm run rig packages` tries it in frameworks.
 */

const run = promisify(execFile);
const tool = (path: string) => join(MODULES, path);
const MAX_BYTES = 380_000;

let folder: string;
let project: string;
let installed: string;
let tarball: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-client-'));
  project = join(folder, 'project');
  installed = join(project, 'node_modules/@jobferry/client');
  tarball = await packBuilt(join(ROOT, 'packages/client'), folder);
  await run('tar', ['-xzf', tarball, '-C', folder]);
  await mkdir(dirname(installed), { recursive: true });
  await rename(join(folder, 'package'), installed);
  await linkDependencies();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** In place of `npm install`: only the packages that the client requires, and Node's types. */
async function linkDependencies(): Promise<void> {
  for (const name of [...Object.keys((await manifest()).dependencies), '@types/node']) {
    const link = join(project, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link, 'junction');
  }
}

async function manifest(): Promise<{ dependencies: Record<string, string>; sideEffects: unknown }> {
  return JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
}

async function filesOf(ending: string): Promise<string[]> {
  const names = await readdir(installed, { recursive: true });
  return names.filter((name) => name.endsWith(ending)).sort();
}

/** Runs a file of this text in the project, and returns what it prints. */
async function runInProject(name: string, text: string): Promise<unknown> {
  await writeFile(join(project, name), text);
  const { stdout } = await run(process.execPath, [name], { cwd: project });
  return JSON.parse(stdout);
}

/** Type-checks a file of this text in the project, and returns the errors. */
async function check(file: string, text: string, options: object): Promise<string> {
  const config = `tsconfig.${file}.json`;
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
  const compilerOptions = { target: 'es2023', noEmit: true, ...strict, ...options };
  await writeFile(join(project, config), JSON.stringify({ compilerOptions, files: [file] }));
  await writeFile(join(project, file), text);
  const tsc = run(process.execPath, [tool('typescript/bin/tsc'), '-p', config], { cwd: project });
  return tsc.then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
}

const USE = `
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'k', retries: 0 });
  const error = await client.jobs.ack({ params: { id: 'a' } }).catch((error) => error);
  const signature = 'sha256=f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8';
  const text = 'The quick brown fox jumps over the lazy dog';
  console.log(JSON.stringify({
    groups: Object.keys(client),
    isError: error instanceof JobferryConnectionError && error instanceof AnotherConnectionError,
    verified: await verifySignature(text, signature, ['other', 'key']),
    handlers: [expressHandler, fastifyHandler, fetchHandler].map((make) => typeof make({ secret: 's' }, () => {})),
    path: contract.jobs.publish.path,
  }));`;

const USED = {
  groups: ['queues', 'jobs', 'deadLetters', 'bulkActions', 'keys', 'graphql'],
  isError: true,
  verified: true,
  handlers: ['function', 'function', 'function'],
  path: '/v1/queues/:queueName/jobs',
};

const FROM_CLIENT = ['contract', 'createClient', 'JobferryConnectionError'];
const FROM_WEBHOOK = ['expressHandler', 'fastifyHandler', 'fetchHandler', 'verifySignature'];

describe('the package', () => {
  it('holds the build and three texts, in less than 380 kB', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout
      .trim()
      .split('\n')
      .map((file) => file.replace(/^package\//, ''));
    const expected =
      /^(dist\/(esm|cjs)\/(client|contract|domain)\/.+\.(js|d\.ts)|((dist\/cjs|webhook|testing)\/)?package\.json)$/;
    expect(files.filter((file) => !expected.test(file)).sort()).toEqual(['LICENSE', 'README.md']);
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(installed, file))).size));
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_BYTES);
  });

  it('has the version of the server, and two dependencies, of the versions that the server is tested with', async () => {
    const root = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const { dependencies } = root as { dependencies: Record<string, string> };
    expect(await manifest()).toMatchObject({ version: root.version, engines: root.engines, license: root.license });
    expect((await manifest()).dependencies).toEqual({
      '@ts-rest/core': dependencies['@ts-rest/core'],
      zod: dependencies.zod,
    });
  });

  it('can be imported', async () => {
    const another = "import { JobferryConnectionError as AnotherConnectionError } from '@jobferry/client/webhook';";
    const imports = `import { ${FROM_CLIENT} } from '@jobferry/client';
      import { ${FROM_WEBHOOK} } from '@jobferry/client/webhook';${another}\n`;
    expect(await runInProject('use.mjs', imports + USE)).toEqual(USED);
  });

  it('can be imported in a test environment that imitates a browser and lacks most of its functions', async () => {
    // As in jest-environment-jsdom.
    const missing = ['TextDecoder', 'TextEncoder', 'crypto', 'fetch', 'Headers', 'Request', 'Response'];
    const entries = ['@jobferry/client', '@jobferry/client/webhook', '@jobferry/client/testing'];
    const text = `for (const name of ${JSON.stringify(missing)}) delete globalThis[name];
      const types = ${JSON.stringify(entries)}.map((entry) => typeof require(entry));
      console.log(JSON.stringify([types, typeof TextDecoder, typeof crypto]));`;
    expect(await runInProject('bare.cjs', text)).toEqual([['object', 'object', 'object'], 'undefined', 'undefined']);
  });

  it('can be required', async () => {
    const another = "const { JobferryConnectionError: AnotherConnectionError } = require('@jobferry/client/webhook');";
    const requires = `const { ${FROM_CLIENT} } = require('@jobferry/client');
      const { ${FROM_WEBHOOK} } = require('@jobferry/client/webhook');${another}\n`;
    expect(await runInProject('use.cjs', `${requires}(async () => {${USE}})();`)).toEqual(USED);
  });

  it('has a fake client that refuses what the service refuses', async () => {
    const text = `import { createFakeClient } from '@jobferry/client/testing';
      const { client, published } = createFakeClient();
      const params = { queueName: 'q' };
      const statuses = [];
      const note = async (call) => statuses.push((await call).status);
      for (const body of [
        { payload: {}, delay: 86_401 }, { payload: {}, idempotencyKey: '' }, { payload: {}, idempotencyKey: 'x'.repeat(256) },
        { payload: [] }, { payload: {}, delay: 86_400, idempotencyKey: '\u{1f600}'.repeat(255) },
      ]) await note(client.jobs.publish({ params, body }));
      await note(client.jobs.publish({ params: { queueName: 'No Such' }, body: { payload: {} } }));
      const webhookUrl = 'http://127.0.0.1:9001';
      for (const body of [
        { name: 'Q', webhookUrl }, { name: 'q', webhookUrl: 'ftp://x' }, { name: 'q', webhookUrl, concurrency: 501 },
        { name: 'q', webhookUrl, maxAttempts: 1.5 }, { name: 'q', webhookUrl, mode: 'fast' }, { name: 'q', webhookUrl },
      ]) await note(client.queues.create({ body }));
      const { outcome, queue } = await client.queues.ensure({ name: 'q', webhookUrl });
      await note(client.queues.update({ params: { id: queue.id }, body: { name: 'r' } }));
      console.log(JSON.stringify({ statuses, outcome, published: published.length }));`;
    expect(await runInProject('fake.mjs', text)).toEqual({
      statuses: [400, 400, 400, 400, 201, 404, 400, 400, 400, 400, 400, 201, 400],
      outcome: 'unchanged',
      published: 1,
    });
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
    expect(await check(file, TYPED_USE, options)).toBe('');
  });

  it('has the types that the contract has', async () => {
    const sources = JSON.stringify(join(ROOT, 'packages/client/src/index.ts')).slice(1, -1);
    const text = `
      import type * as packed from '@jobferry/client';
      import type * as source from '${sources}';
      type Same<A, B> = [A, B] extends [B, A] ? true : { expected: B; is: A };
      type Wrong<A, B> = { [Key in keyof B]: Key extends keyof A ? (Same<A[Key], B[Key]> extends true ? never : Key) : Key }[keyof B];
      type Inputs<C> = { [G in keyof C]: { [N in keyof C[G]]: C[G][N] extends (input: infer I) => unknown ? I : C[G][N] extends (input?: infer I) => unknown ? I : never } };
      type Answers<C> = { [G in keyof C]: { [N in keyof C[G]]: C[G][N] extends (...input: never[]) => Promise<infer A> ? A : never } };
      type P = packed.JobferryClient;
      type S = source.JobferryClient;
      type Groups = keyof S;
      export const wrongInputs: { [G in Groups]: Wrong<Inputs<P>[G], Inputs<S>[G]> }[Groups][] = [];
      export const wrongAnswers: { [G in Groups]: Wrong<Answers<P>[G], Answers<S>[G]> }[Groups][] = [];
      const none: never[] = [];
      none.push(...wrongInputs, ...wrongAnswers);
      export const sameClient: [Same<P, S>, Same<source.Job, packed.Job>, Same<source.PublishInput, packed.PublishInput>] = [true, true, true];
      // @ts-expect-error so that "never" above means that there were routes to compare
      export const compared: never = 'publish' as keyof Answers<P>['jobs'];`;
    const options = { module: 'nodenext', types: ['node'], lib: ['es2024'], allowImportingTsExtensions: true };
    expect(await check('same.mts', text, { ...options, skipLibCheck: true })).toBe('');
  });

  it('has the routes of the contract', async () => {
    const text = `import { contract } from '@jobferry/client';
      const read = ({ method, path, responses, pathParams, query, body }) =>
        ({ method, path, statuses: Object.keys(responses), parts: [pathParams, query, body].map((part) => typeof part) });
      const routes = Object.values(contract).flatMap((group) => Object.values(group));
      console.log(JSON.stringify(routes.map(read)));`;
    const routes = Object.values(contract).flatMap((group) => Object.values(group));
    const expected = routes.map((route) => {
      const { method, path, responses, pathParams, query, body } = { query: undefined, body: undefined, ...route } as {
        [part: string]: unknown;
      };
      const parts = [pathParams, query, body].map((part) => typeof part);
      return { method, path, statuses: Object.keys(responses as object), parts };
    });
    expect(await runInProject('routes.mjs', text)).toEqual(expected);
  });

  it('describes every member that its declarations name', async () => {
    const bare: string[] = [];
    let described = 0;
    for (const file of await filesOf('.d.ts')) {
      const lines = (await readFile(join(installed, file), 'utf8')).split('\n');
      // Types that are not exported never show.
      const hidden = /^(type|interface) \w+/;
      let inside = '';
      for (const [at, line] of lines.entries()) {
        if (/^\S/.test(line)) inside = line;
        const isMember =
          /^\s+(readonly )?["\w]+\??(\(|: )/.test(line) && !/^\s*(method|path|responses|strict)/.test(line);
        if (!isMember || hidden.test(inside) || /^\s+constructor/.test(line)) continue;
        if (lines[at - 1]?.trimEnd().endsWith('*/')) described += 1;
        else if (inside.startsWith('export interface') || inside.startsWith('export declare class'))
          bare.push(`${file}: ${line}`);
      }
    }
    expect(bare).toEqual([]);
    expect(described).toBeGreaterThan(150);
  });
});
