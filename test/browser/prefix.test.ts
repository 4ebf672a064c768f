import { describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { startPathProxy } from '../support/path-proxy.ts';
import { startJobferry } from '../support/process.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';

/**
 * The dashboard, the API's page and the explorer behind a proxy that serves Jobferry below a path,
 * and nothing beside it.
 */

const KEY = 'key-behind-the-path-prefix';

const PROXIES = [
  ['removes the path', { removes: true }],
  ['passes the path on', { removes: false }],
] as const;

describe.skipIf(NO_BROWSER !== null).each(PROXIES)('behind a proxy that %s', (_name, options) => {
  useBrowser();

  async function served() {
    const proxy = await startPathProxy('/ops/jobferry/', options);
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY, PUBLIC_URL: proxy.url };
    const api = await startJobferry({ databaseUrl, env });
    proxy.pointTo(api.baseUrl);
    const watched = await openPage({ url: proxy.url, cookie: null });
    return { proxy, watched, page: watched.page, at: (path: string) => new URL(path, proxy.url).href };
  }

  it('the dashboard, the documentation and the explorer work', async () => {
    const { proxy, watched, page, at } = await served();
    await page.goto(at('sign-in?to=%2Fsystem'));
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.url()).toBe(at('system'));
    await page.getByRole('button', { name: /^Live/ }).waitFor();

    await page.goto(at('docs'));
    await page.getByRole('heading', { name: /^Jobferry/ }).waitFor();
    await page
      .getByRole('button', { name: /get .*\/v1\/queues$/i })
      .first()
      .click();
    await page.getByRole('button', { name: 'Execute' }).click();
    // Without a key it is refused, by the API below the path.
    watched.announce(/401/);
    await page.locator('.request-url').getByText(at('v1/queues')).first().waitFor();
    await page.locator('.live-responses-table').getByText('401').first().waitFor();

    await page.goto(at('graphql'));
    await page.getByLabel('API key').fill(KEY);
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('button', { name: /^Execute query/ }).click();
    await page.locator('.result-window').getByText('"data"').waitFor();
    expect(proxy.strays).toEqual([]);
  });
});
