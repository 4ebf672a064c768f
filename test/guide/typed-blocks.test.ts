import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { pagesOf } from '../../scripts/guide/pages.mjs';
import { MODULES, ROOT } from '../support/checkout.ts';

/** Blocks of TypeScript that use the client fit its types: a method or an option that there is not fails here. */

/** Names that a document takes for granted, such as an app of the reader's. */
const GIVEN = `
import type { JobferryClient } from '@jobferry/client';
declare global {
  const client: JobferryClient;
  const id: string;
  const late: string;
  const secret: string;
  const apiKey: string;
  const bytes: Uint8Array;
  const header: string | null;
  const app: any;
  const queue: any;
  const job: { id: string };
  const run: (delivery: any) => Promise<void>;
  const signUp: (client: JobferryClient, address: string) => Promise<void>;
  const handle: (request: Request) => Promise<Response>;
  const unwrap: typeof import('@jobferry/client').unwrap;
  const Bun: { serve(options: object): void };
}
`;

/** Packages that this repository does not have. */
const ABSENT = [
  'cloudflare:workers',
  'fastify',
  'hono',
  '@hono/node-server',
  'next/server',
  '@nestjs/common',
  '@ts-rest/react-query/v5',
  'nodemailer',
  // The work of the page's first block.
  '*/work',
  '*/work.ts',
];

/** Packages of which a block gives a type argument. */
const NEST = `declare module '@nestjs/platform-express' {
  export type NestExpressApplication = any;
}
declare module '@nestjs/core' {
  export const NestFactory: { create<T>(module: unknown, options?: object): Promise<any> };
}`;

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-blocks-'));
  await symlink(MODULES, join(folder, 'node_modules'), 'junction');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('blocks of TypeScript fit the types of the client', async () => {
  await mkdir(join(folder, 'blocks'));
  let count = 0;
  for (const page of pagesOf(ROOT)) {
    const text = await readFile(join(ROOT, page), 'utf8');
    for (const { index, 1: block = '' } of text.matchAll(/^ *```ts\n([\s\S]*?)^ *```$/gm)) {
      const line = text.slice(0, index).split('\n').length + 1;
      const name = `${page.replace(/\W/g, '-')}-line-${line}.ts`;
      await writeFile(join(folder, 'blocks', name), `${block}\nexport {};\n`);
      count += 1;
    }
  }
  await writeFile(join(folder, 'given.d.ts'), GIVEN);
  await writeFile(join(folder, 'absent.d.ts'), [...ABSENT.map((name) => `declare module '${name}';`), NEST].join('\n'));
  const client = (entry: string) => [join(ROOT, 'packages/client/src', entry)];
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    target: 'es2023',
    module: 'esnext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    lib: ['es2024', 'dom'],
    types: ['node'],
    experimentalDecorators: true,
    // Functions of the reader need no types here.
    noImplicitAny: false,
    paths: {
      '@jobferry/client': client('index.ts'),
      '@jobferry/client/webhook': client('webhook/index.ts'),
      '@jobferry/client/testing': client('testing/index.ts'),
    },
  };
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, include: ['blocks', 'given.d.ts', 'absent.d.ts'] }),
  );
  const errors = await promisify(execFile)(process.execPath, [join(MODULES, 'typescript/bin/tsc'), '-p', folder]).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  );
  expect(errors).toBe('');
  expect(count).toBeGreaterThan(20);
});
