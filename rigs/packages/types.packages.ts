import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { TYPED_USE } from '../../test/client/typed-use.ts';
import { apiKey, startServedClient } from '../../test/support/served-client.ts';
import { createProject, type Project, write } from './fresh-project.ts';

/** The types of the client, with the compilers and settings that projects have. */

const strict = {
  target: 'es2022',
  lib: ['es2023', 'dom'],
  types: [],
  strict: true,
  noEmit: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
};

async function check(project: Project, files: string[], options: object): Promise<string> {
  await write(project, 'tsconfig.json', JSON.stringify({ compilerOptions: { ...strict, ...options }, files }));
  return project.node(['node_modules/typescript/bin/tsc', '-p', '.']).catch(({ stdout }: { stdout: string }) => stdout);
}

const nodenext = { module: 'nodenext' };
const bundler = { module: 'esnext', moduleResolution: 'bundler' };
const node10 = { module: 'commonjs', moduleResolution: 'node10' };

describe.each([
  ['typescript@5.9', { nodenext, bundler, node10 }],
  ['typescript@7', { nodenext, bundler }],
])('%s', (compiler, resolutions) => {
  let project: Project;

  beforeAll(async () => {
    project = await createProject('packages/client', [compiler]);
    for (const ending of ['ts', 'mts', 'cts']) await write(project, `use.${ending}`, TYPED_USE);
  });

  it.each(Object.entries(resolutions))('finds the types with %s', async (name, options) => {
    const files = name === 'nodenext' ? ['use.mts', 'use.cts'] : ['use.ts'];
    expect(await check(project, files, options)).toBe('');
  });
});

const HOVERED = `import { contract, createClient } from '@jobferry/client';
import { fetchHandler, verifySignature } from '@jobferry/client/webhook';
import { initClient } from '@ts-rest/core';
const client = createClient({ baseUrl: 'http://127.0.0.1', apiKey: 'k' });
const result = await client.jobs.publish({ params: { queueName: 'q' }, body: { payload: {}, delay: 1 } });
if (result.status === 201) result.body.createdAt;
const job = await client.jobs.get({ params: { id: 'a' } });
if (job.status === 200) job.body.history[0]?.webhookStatusCode;
fetchHandler({ secret: 's', mode: 'ack', ackTimeout: 1 }, ({ job, signal, defer }) => [job.attempt, signal, defer]);
verifySignature('', null, 's');
const plain = initClient(contract, { baseUrl: '', baseHeaders: {} });
plain.deadLetters.replayMany;
`;

/** Prints the description that an editor shows at each of the words, as JSON. */
const HOVER = `
  const ts = require('typescript');
  const { readFileSync } = require('node:fs');
  const text = readFileSync('hovered.mts', 'utf8');
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022, strict: true };
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => ['hovered.mts'],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => ts.sys.fileExists(file) ? ts.ScriptSnapshot.fromString(ts.sys.readFile(file)) : undefined,
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists, readFile: ts.sys.readFile, readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists, getDirectories: ts.sys.getDirectories, realpath: ts.sys.realpath,
  });
  const describe = (word) => {
    const info = service.getQuickInfoAtPosition('hovered.mts', text.lastIndexOf(word) + word.length - 1);
    return ts.displayPartsToString(info?.documentation ?? []);
  };
  console.log(JSON.stringify(Object.fromEntries(process.argv.slice(2).map((word) => [word, describe(word)]))));
`;

it('shows the description of every method and field that an editor is pointed at', async () => {
  const project = await createProject('packages/client', ['typescript@5.9']);
  await write(project, 'hovered.mts', HOVERED);
  await write(project, 'hover.cjs', HOVER);
  const words = {
    '.publish': 'Publish a job.',
    queueName: '`name` of the queue.',
    delay: 'Time until the first delivery, in seconds.',
    '.createdAt': 'Time at which the job was published.',
    '.webhookStatusCode': 'Status code of the webhook',
    apiKey: 'API key of the account.',
    mode: 'Mode of the queue',
    ackTimeout: 'Seconds',
    '.attempt': 'Number of',
    defer: 'Holds the queue',
    '.body': 'Body of the answer',
    verifySignature: 'Verifies that Jobferry',
    '.replayMany': 'Replay up to 1000 dead letters.',
    fetchHandler: 'Creates a webhook for runtimes',
  };
  const shown = JSON.parse(await project.node(['hover.cjs', ...Object.keys(words)])) as Record<string, string>;
  const missing = Object.entries(words).filter(([word, start]) => !shown[word]?.startsWith(start));
  expect(missing.map(([word]) => [word, shown[word]])).toEqual([]);
});

it("works with ts-rest's own client and its React Query binding", async () => {
  const { baseUrl } = await startServedClient();
  const packages = ['@ts-rest/react-query@3.52.1', '@tanstack/react-query@5', 'react@18', '@types/react@18'];
  const compiler = ['typescript@5.9', '@types/node@20'];
  const project = await createProject('packages/client', [...packages, ...compiler], ['ts-rest.mts']);
  // The declarations of the other packages are theirs.
  const options = { ...bundler, types: ['node'], skipLibCheck: true, noEmit: false, outDir: 'out' };
  expect(await check(project, ['ts-rest.mts'], options)).toBe('');
  const env = { API_URL: baseUrl, API_KEY: apiKey };
  expect(JSON.parse(await project.node([join('out', 'ts-rest.mjs')], env))).toEqual({
    secret: true,
    same: true,
    payload: { to: 'ada' },
    listed: [true],
    dead: 0,
    refused: 400,
    cached: true,
    removed: 204,
  });
});
