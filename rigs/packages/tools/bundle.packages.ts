import { createContext, runInContext } from 'node:vm';
import { type BuildOptions, build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { builtClient } from '../../../test/support/built.ts';

/** The built package in bundles, as edge runtimes and browsers get it. */

async function bundle(contents: string, options: BuildOptions = {}) {
  const result = await build({
    stdin: { contents, resolveDir: builtClient() },
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    ...options,
  });
  const [file] = result.outputFiles ?? [];
  if (file === undefined) throw new Error('esbuild wrote nothing');
  const packages = Object.keys(result.metafile?.inputs ?? {}).filter((input) => input.includes('node_modules'));
  return { text: file.text, packages };
}

describe('the webhook half', () => {
  it('verifies signatures in at most 2 kB', async () => {
    const { text } = await bundle("export { verifySignature } from './webhook/index.js'", { minify: true });
    expect(text).toContain('HMAC');
    expect(text.length).toBeLessThanOrEqual(2000);
  });

  it('needs no other package', async () => {
    const { text, packages } = await bundle("export * from './webhook/index.js'");
    expect(packages).toEqual([]);
    expect(text).not.toMatch(/\bfrom\s*"|\brequire\(|\bprocess\b|\bBuffer\b/);
  });

  it('leaves out the handlers that are not used', async () => {
    const { text } = await bundle("export { fetchHandler } from './webhook/index.js'");
    expect(text).not.toContain('removeAllContentTypeParsers');
    expect(text).not.toContain('readableDidRead');
  });
});

describe('the testing half', () => {
  it('makes deliveries where there is no Node, though another part of it starts a process', async () => {
    const { text } = await bundle("export { signedDelivery } from './testing/index.js'", { minify: true });
    expect(text).not.toMatch(/\bprocess\b|\bBuffer\b/);
    expect(text.length).toBeLessThanOrEqual(2000);
    await bundle("export * from './testing/index.js'");
  });
});

/** Edge runtimes refuse these while a module loads: requests, timers, and random values. */
const FORBIDDEN = `
  const refuse = (name) => () => { throw new Error(name + ' was used while the module loads'); };
  const crypto = { getRandomValues: refuse('crypto'), randomUUID: refuse('crypto'), get subtle() { return refuse('crypto')(); } };
  const [fetch, setTimeout, setInterval, queueMicrotask] = ['fetch', 'setTimeout', 'setInterval', 'queueMicrotask'].map(refuse);
  Math.random = refuse('Math.random');
  Date.now = refuse('Date.now');
  performance.now = refuse('performance.now');
  AbortSignal.timeout = refuse('AbortSignal.timeout');
`;

/** Loads a bundle where there is nothing of Node, and nothing that an edge runtime forbids at that time. */
async function load(contents: string): Promise<string[]> {
  const { text } = await bundle(contents, { format: 'iife', globalName: 'loaded' });
  const web = {
    TextEncoder,
    TextDecoder,
    URL,
    Headers,
    Request,
    Response,
    AbortController,
    AbortSignal: {},
    performance: {},
  };
  return runInContext(`${FORBIDDEN}${text}; Object.keys(loaded);`, createContext({ ...web }));
}

describe('loading', () => {
  it.each([
    ['the client', "export * from './index.js'", 'createClient'],
    ['the webhook half', "export * from './webhook/index.js'", 'fetchHandler'],
    [
      'a module that makes a handler',
      "import { fetchHandler } from './webhook/index.js'; export const handle = fetchHandler({ secret: () => '' }, () => 1);",
      'handle',
    ],
  ])('uses nothing that edge runtimes forbid at that time: %s', async (_name, contents, exported) => {
    expect(await load(contents)).toContain(exported);
  });

  it.each(['crypto.randomUUID()', 'setTimeout(() => 1)', 'fetch("http://x")', 'process.env', 'Date.now()'])(
    'would be seen to use %s',
    async (code) => {
      await expect(load(`${code}; export const x = 1`)).rejects.toThrow();
    },
  );
});
