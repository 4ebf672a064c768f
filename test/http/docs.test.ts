import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';

/** Without a key, and without following anything. */
async function get(path: string, init: RequestInit = {}) {
  const api = await testApi();
  const response = await fetch(new URL(path, api.url), { redirect: 'manual', ...init });
  return { status: response.status, headers: response.headers, text: await response.text(), calls: api.calls };
}

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

describe('/docs', () => {
  it('is a page that needs no key and may load nothing from elsewhere', async () => {
    const { status, headers, text, calls } = await get('/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'self'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    // No script or style of its own, which the policy would forbid.
    expect(text).not.toMatch(/<style|<script>|style=|\son\w+=/);
    expect(calls).toEqual([]);
  });

  it('names files that are all there', async () => {
    const { text } = await get('/docs');
    const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links.filter((each) => each !== 'data:,')) {
      expect(link).toMatch(/^(docs\/|openapi\.json$)/);
      expect((await get(`/${link}`)).status, link).toBe(200);
    }
  });

  it('has styles that load nothing', async () => {
    const { text } = await get('/docs/swagger-ui.css');
    expect(/@import|@font-face/.exec(text)).toBeNull();
    const urls = [...text.matchAll(/url\(["']?([^:]+:)/g)].map(([, scheme]) => scheme);
    expect([...new Set(urls)]).toEqual(['data:']);
  });

  it.each([
    ['/docs', 'text/html; charset=utf-8', 'no-cache'],
    ['/openapi.json', 'application/json; charset=utf-8', 'no-cache'],
    ['/docs/start.js', JAVASCRIPT, 'no-cache'],
    ['/docs/swagger-ui-bundle.js', JAVASCRIPT, 'public, max-age=86400'],
    ['/docs/swagger-ui.css', CSS, 'public, max-age=86400'],
    ['/docs/index.css', CSS, 'public, max-age=86400'],
  ])('serves %s with its type, its cache rule and its tag, and its HEAD', async (path, type, cacheControl) => {
    const { status, headers, text } = await get(path);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, type, cacheControl]);
    expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    const etag = headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{43}"$/);

    const head = await get(path, { method: 'HEAD' });
    expect([head.status, head.text.length]).toEqual([200, 0]);
    expect(head.headers.get('content-length')).toBe(headers.get('content-length'));
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`]) {
      const again = await get(path, { headers: { 'if-none-match': known } });
      expect([again.status, again.text.length, again.headers.get('etag')], known).toEqual([304, 0, etag]);
    }
    expect((await get(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it.each([
    ['GET', '/docs/nothing'],
    ['GET', '/docs/package.json'],
    ['GET', '/docs/index.html'],
    ['GET', '/docs/swagger-ui-bundle.js.map'],
    ['GET', '/docs/..%2fpackage.json'],
    ['GET', '/docs/swagger-ui.css/x'],
    ['GET', '/Docs'],
    ['POST', '/docs'],
    ['DELETE', '/docs/index.css'],
    ['OPTIONS', '/docs'],
    ['PUT', '/openapi.json'],
    ['GET', '/openapi.yaml'],
  ])('answers %s %s as any unknown path', async (method, path) => {
    const { status, headers, text } = await get(path, { method });
    expect([status, JSON.parse(text)]).toEqual([404, { error: 'not found' }]);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
  });
});
