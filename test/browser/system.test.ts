import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { type Jobferry, startJobferry } from '../support/process.ts';
import { openReceiver } from '../support/service.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says } from './sentence.ts';
import { type Account, accountOf } from './small-service.ts';

/** The system: is Jobferry itself well? A worker that has stopped is the bar of every screen. */

const KEY = 'key-of-the-bootstrap-account';

describe.skipIf(NO_BROWSER !== null)('the system', () => {
  let databaseUrl: string;
  let worker: Jobferry;
  let account: Account;
  useBrowser();
  beforeAll(async () => {
    ({ url: databaseUrl } = await createTestDatabase());
    // The first process creates the account.
    const api = await startJobferry({ databaseUrl, role: 'api', env: { BOOTSTRAP_API_KEY: KEY } });
    worker = await startJobferry({ databaseUrl, role: 'worker' });
    account = await accountOf(KEY, api.baseUrl);
    await account.createQueue('orders', await openReceiver());
  });

  it('says which processes run, and on every screen that no worker does', async () => {
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/system');
    await settled(watched);
    await says(page, /^2 processes are running, all version .+\.$/);
    const roles = page.getByRole('table').locator('tbody td.c3');
    expect((await roles.allInnerTexts()).sort()).toEqual(['API', 'Worker']);
    const bar = page.locator('.bar').getByText('No worker is running.');
    expect(await bar.count()).toBe(0);
    const other = await openPage(account.session);
    await other.page.goto('/jobs');
    await settled(other);

    await worker.kill();
    await says(page, /^No worker is running: jobs are accepted and wait\.$/);
    await page.reload();
    await bar.waitFor();
    for (const [key, path] of [...'oqjdtae'].map((one, n) => [one, PATHS[n]] as const)) {
      await page.keyboard.press('g');
      await page.keyboard.press(key);
      await page.waitForURL((url) => url.pathname === path);
      await settled(watched);
      expect(await bar.isVisible(), path).toBe(true);
    }
    const [id = ''] = await account.operate.publish('orders', ['{}']);
    for (const path of ['/queues/orders', '/queues/orders/edit', '/queues/orders/send', `/jobs/${id}`, '/nowhere']) {
      await page.goto(path);
      await settled(watched);
      expect(await bar.isVisible(), path).toBe(true);
    }
    await page.goto(`/jobs/${id}`);
    await says(page, /^Waits because no worker is running\.$/);
    // A page that stays open untouched says it, too. It asks every 15 s.
    await other.page.locator('.bar').getByText('No worker is running.').waitFor({ timeout: 70_000 });
    await startJobferry({ databaseUrl, role: 'worker' });
    await says(page, /^Completed at /);
    await page.reload();
    await settled(watched);
    expect(await bar.count()).toBe(0);
  });
});

const PATHS = ['/', '/queues', '/jobs', '/dead', '/actions', '/activity', '/settings'];
