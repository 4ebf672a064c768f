import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, signInAt, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type SmallService, startSmallService } from './small-service.ts';

/** Activity: who did what, and what it was before. */

describe.skipIf(NO_BROWSER !== null)('the activity', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('shows each change with its difference, and a filter is a link', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    const orders = await account.createQueue('orders', receiver, { concurrency: 5 });
    await account.createQueue('mails', receiver);
    await account.operate.updateQueue(orders, { concurrency: 9 });
    await account.operate.change('pauseQueue', orders);
    for (let n = 0; n < 3; n += 1) await signInAt(service.jobferry.baseUrl, account.key);
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/activity');
    await settled(watched);
    // The newest change, although sign-ins came later.
    await says(page, /^jf_.+ paused the queue orders at .+\.$/);
    const rows = page.locator('tbody tr');
    const signIns = page.getByRole('button', { name: /^3.sign-ins of jf_/ });
    const folded = await rows.count();
    await signIns.click();
    expect(await rows.count()).toBe(folded + 3);
    await signIns.click();
    await page.getByLabel('Group').selectOption({ label: 'sign-ins' });
    await page.waitForURL('**/activity?group=sign-ins');
    await rows.filter({ hasText: 'Signed in' }).nth(3).waitFor();
    await page.goto('/activity');
    await settled(watched);
    const changed = rows.filter({ hasText: 'Changed the queue orders' });
    expect(textOf(await changed.locator('dl').innerText())).toBe('concurrency 5 → 9');
    expect([await changed.locator('del').innerText(), await changed.locator('ins').innerText()]).toEqual(['5', '9']);
    const paused = rows.filter({ hasText: 'Paused the queue orders' });
    expect(textOf(await paused.locator('dl').innerText())).toMatch(/^paused at – → \d\d:\d\d:\d\d paused by – → jf_/);

    await page.getByLabel('What', { exact: true }).selectOption({ label: 'queue created' });
    await page.waitForURL('**/activity?action=queue.create');
    await says(page, /^jf_.+ created the queue mails at .+\.$/);
    await rows.nth(1).waitFor();
    expect(await rows.count()).toBe(2);
    // It shows with the row that has the pointer or the focus.
    await page.goto('/activity');
    await settled(watched);
    await rows.filter({ hasText: 'orders' }).first().hover();
    await page.getByRole('link', { name: 'Only changes of orders' }).first().click();
    await page.waitForURL(/\?target=/);
    await expect.poll(() => rows.count()).toBe(3);
    await says(page, /^jf_.+ paused the queue orders/);
    expect((await rows.locator('td.c1').allInnerTexts()).map(textOf)).toEqual([
      'Paused the queue orders',
      'Changed the queue orders',
      'Created the queue orders',
    ]);

    const colleague = await openPage(account.session);
    await colleague.page.goto(page.url());
    await settled(colleague);
    expect(await colleague.page.locator('tbody tr').count()).toBe(3);
    await colleague.page.getByRole('link', { name: 'Remove of orders' }).click();
    await colleague.page.locator('tbody tr', { hasText: 'Created the queue mails' }).waitFor();
  });
});
