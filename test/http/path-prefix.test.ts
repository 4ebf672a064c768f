import { describe, expect, it } from 'vitest';
import { testApi } from '../support/fake-api.ts';
import { KEY } from '../support/fake-services.ts';
import { fakeSignIn } from '../support/fake-sign-in.ts';
import { startPathProxy } from '../support/path-proxy.ts';

/** Pages and documents behind a proxy that serves Jobferry below a path. test/browser/prefix.test.ts opens them. */

const PROXIES = [
  ['removes the path', { removes: true }],
  ['passes the path on', { removes: false }],
] as const;

async function served(options: { removes: boolean }) {
  const proxy = await startPathProxy('/jobferry/', options);
  const api = await testApi({ signIn: fakeSignIn({ address: { url: new URL(proxy.url) } }) });
  proxy.pointTo(api.url.href);
  return proxy;
}

describe.each(PROXIES)('behind a proxy that %s', (_name, options) => {
  it.each(['docs', 'docs/'])('%s loads all of its files', async (page) => {
    const proxy = await served(options);
    const address = new URL(page, proxy.url);
    const html = await (await fetch(address)).text();
    const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links.filter((each) => each !== 'data:,')) {
      const answer = await fetch(new URL(link, address));
      expect([answer.status, new URL(answer.url).pathname], link).toEqual([
        200,
        expect.stringMatching(/^\/jobferry\//),
      ]);
      await answer.arrayBuffer();
    }
    expect(proxy.strays).toEqual([]);
  });

  it('openapi.json names the address of the API', async () => {
    const proxy = await served(options);
    const address = new URL('openapi.json', proxy.url);
    const { servers } = (await (await fetch(address)).json()) as { servers: { url: string }[] };
    const server = new URL(servers[0]?.url ?? '', address);
    expect(server.href).toBe(proxy.url);
    const answer = await fetch(new URL('v1/queues', server), { headers: { authorization: `Bearer ${KEY}` } });
    expect(answer.status).toBe(200);
  });
});
