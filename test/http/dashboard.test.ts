import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDashboard } from '../../src/http/index.ts';
import { type Api, testApi } from '../support/fake-api.ts';
import { fakeSignIn } from '../support/fake-sign-in.ts';

const SCRIPT = 'console.log("the dashboard")';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let parent: string;
let folder: string;

beforeAll(() => {
  parent = mkdtempSync(join(tmpdir(), 'jobferry-dashboard-'));
  writeFileSync(join(parent, 'outside.txt'), 'outside');
  folder = join(parent, 'dashboard');
  mkdirSync(join(folder, 'assets'), { recursive: true });
  writeFileSync(join(folder, 'index.html'), '<!doctype html><html><head><base href="/"><title>x</title></head></html>');
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>');
  writeFileSync(join(folder, 'assets/app-1a2b.js'), SCRIPT);
  writeFileSync(join(folder, 'assets/app-1a2b.js.br'), brotliCompressSync(SCRIPT));
  writeFileSync(join(folder, 'assets/app-1a2b.js.gz'), gzipSync(SCRIPT));
});

afterAll(() => rmSync(parent, { recursive: true }));

interface Got {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  bytes: Buffer;
}

function get({ url }: Api, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const req = request({ host: url.hostname, port: url.port, path, method, headers, agent: false }, (res) => {
      const parts: Buffer[] = [];
      res.on('data', (part: Buffer) => parts.push(part));
      res.once('end', () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, bytes: Buffer.concat(parts) }),
      );
    });
    req.once('error', reject);
    req.end();
  });
}

const served = (basePath = '/') => {
  const url = basePath === '/' ? null : new URL(`https://example.com${basePath}`);
  return testApi({ dashboard: readDashboard(folder, basePath), signIn: fakeSignIn({ address: { url } }) });
};

describe('the page', () => {
  it.each(['/', '/jobs', '/jobs/0123456789abcdef01234567', '/sign-in?to=%2Fjobs', '/queues/v1'])(
    'is what a browser gets at %s',
    async (path) => {
      const { status, headers, bytes } = await get(await served(), path, { accept: BROWSER });
      expect(status).toBe(200);
      expect(bytes.toString()).toContain('<base href="/">');
      expect(headers).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'same-origin',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "font-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'",
      });
    },
  );

  it.each([
    ['/jobs', 'application/json'],
    ['/jobs', undefined],
    ['/jobs', '*/*'],
    ['/v1/unknown', BROWSER],
    ['/docs/unknown', BROWSER],
    ['/session/unknown', BROWSER],
    ['/assets/app-old.js', BROWSER],
  ])('is not what %s answers to a client that accepts %s', async (path, accept) => {
    const { status, bytes } = await get(await served(), path, accept === undefined ? {} : { accept });
    expect([status, JSON.parse(bytes.toString())]).toEqual([404, { error: 'not found' }]);
  });

  it.each(['/healthz', '/readyz', '/openapi.json', '/docs', '/session'])('does not hide %s', async (path) => {
    const { headers, bytes } = await get(await served(), path, { accept: BROWSER });
    expect(headers['content-security-policy'] ?? '').not.toContain("font-src 'none'");
    expect(bytes.toString()).not.toContain('<base');
  });

  it('does not answer a POST', async () => {
    expect((await get(await served(), '/jobs', { accept: BROWSER }, 'POST')).status).toBe(404);
  });

  it('answers HEAD without a body, and 304 to who has it', async () => {
    const api = await served();
    const { headers, bytes } = await get(api, '/', { accept: BROWSER }, 'HEAD');
    expect([bytes.length, Number(headers['content-length'])]).toEqual([0, expect.any(Number)]);
    const again = await get(api, '/', { accept: BROWSER, 'if-none-match': String(headers.etag) });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
  });

  it('is compressed', async () => {
    const { headers, bytes } = await get(await served(), '/', { accept: BROWSER, 'accept-encoding': 'gzip, br' });
    expect(headers['content-encoding']).toBe('br');
    expect(brotliDecompressSync(bytes).toString()).toContain('<title>x</title>');
  });

  it('is absent when the dashboard is off', async () => {
    const api = await testApi();
    expect((await get(api, '/', { accept: BROWSER })).headers['content-type']).toContain('json');
    expect((await get(api, '/jobs', { accept: BROWSER })).status).toBe(404);
    expect((await get(api, '/assets/app-1a2b.js')).status).toBe(404);
  });

  it('is absent from a folder that was not built', () => {
    expect(readDashboard(join(folder, 'assets'), '/')).toBeNull();
    expect(readDashboard(join(folder, 'none'), '/')).toBeNull();
  });

  it('gets a base of its own when it was built without one', () => {
    const other = mkdtempSync(join(tmpdir(), 'jobferry-dashboard-'));
    writeFileSync(join(other, 'index.html'), '<html><head lang="en"><title>x</title></head></html>');
    expect(readDashboard(other, '/a/')?.get('index.html')?.plain.toString()).toContain(
      '<head lang="en"><base href="/a/">',
    );
    rmSync(other, { recursive: true });
  });
});

describe('an asset', () => {
  it.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['gzip, br;q=0', 'gzip', gunzipSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
  ])('an asset for a client that accepts %s is sent as %s, for ever', async (accepted, encoding, decode) => {
    const { status, headers, bytes } = await get(await served(), '/assets/app-1a2b.js', {
      'accept-encoding': accepted,
    });
    expect([status, decode(bytes).toString(), headers['content-encoding']]).toEqual([200, SCRIPT, encoding]);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'accept-encoding',
      'x-content-type-options': 'nosniff',
    });
  });

  it('an asset without a hash in its name is checked on each use', async () => {
    const { headers } = await get(await served(), '/favicon.svg');
    expect(headers).toMatchObject({ 'content-type': 'image/svg+xml', 'cache-control': 'no-cache' });
  });

  it.each([
    '/../outside.txt',
    '/assets/../../outside.txt',
    '/%2e%2e/outside.txt',
    '/assets/..%2f..%2foutside.txt',
    '//etc/passwd',
  ])('is never a file outside of the folder: %s', async (path) => {
    const { status } = await get(await served(), path);
    expect(status).toBe(404);
  });
});

describe('a path prefix', () => {
  it.each(['/jobferry/jobs', '/jobferry/', '/jobferry', '/jobferry?x=1', '/jobs', '/'])(
    'is removed by the proxy or not: %s',
    async (path) => {
      const { status, bytes } = await get(await served('/jobferry/'), path, { accept: BROWSER });
      expect([status, bytes.toString().includes('<base href="/jobferry/">')]).toEqual([200, true]);
    },
  );

  it('holds for all routes', async () => {
    const api = await served('/jobferry/');
    expect((await api.send('GET', '/jobferry/healthz')).json).toEqual({ status: 'ok' });
    expect((await api.send('GET', '/jobferry/v1/queues')).status).toBe(200);
    expect((await api.send('GET', '/v1/queues')).status).toBe(200);
    expect((await get(api, '/jobferry/assets/app-1a2b.js')).bytes.toString()).toBe(SCRIPT);
    expect((await api.send('GET', '/jobferryx/healthz')).status).toBe(404);
  });
});

describe('the root', () => {
  const paths = { documentation: '/docs', openapi: '/openapi.json', health: '/healthz', readiness: '/readyz' };

  it.each(['application/json', undefined, '*/*'])('tells a client that accepts %s what is where', async (accept) => {
    const answer = await (await testApi()).send('GET', '/', { headers: { authorization: undefined, accept } });
    expect(answer).toMatchObject({ status: 200, json: { service: 'jobferry', paths } });
  });

  it('is the dashboard for browsers, and names it and its prefix to programs', async () => {
    const api = await served('/jobferry/');
    expect((await get(api, '/', { accept: BROWSER })).headers['content-type']).toContain('text/html');
    expect((await api.send('GET', '/')).json.paths).toMatchObject({
      dashboard: '/jobferry/',
      documentation: '/jobferry/docs',
    });
  });
});
