import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type SmallService, startSmallService } from './small-service.ts';

/** The changelog of a queue: what was changed, and a way back. */

describe.skipIf(NO_BROWSER !== null)('the changes of a queue', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('are reverted, and not what was changed again meanwhile', async () => {
    const account = await service.openAccount();
    const orders = await account.createQueue('orders', await openReceiver(), { concurrency: 5, maxAttempts: 3 });
    await account.operate.updateQueue(orders, { concurrency: 9, maxAttempts: 7 });
    await account.operate.updateQueue(orders, { maxAttempts: 8 });
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/queues/orders/changes');
    await settled(watched);
    await says(page, /^jf_.+ changed the number of attempts at .+\.$/);
    const entries = page.locator('.changelog > li');
    expect(await entries.count()).toBe(3);
    const revert = entries.filter({ hasText: 'concurrency' }).getByRole('button', { name: 'Revert…' });
    await revert.click();
    const dialog = page.getByRole('dialog', { name: /^Revert 1.setting of orders\?$/ });
    expect(textOf(await dialog.locator('dl').innerText())).toContain('Concurrency 9 → 5');
    await dialog.getByText('Attempts was changed again since, and stays as it is: 8.').waitFor();

    // Another person is faster: the action is refused, and the page shows what is true now.
    await account.operate.updateQueue(orders, { concurrency: 6 });
    await dialog.getByRole('button', { name: /^Revert 1/ }).click();
    await page
      .getByRole('alert')
      .getByText(/changed meanwhile/)
      .waitFor();
    const nothing = page.getByRole('dialog', { name: 'Nothing in orders is left to revert' });
    await nothing.getByText('Concurrency was changed again since, and stays as it is: 6.').waitFor();
    await account.operate.updateQueue(orders, { concurrency: 9 });
    await nothing.getByRole('button', { name: 'Close' }).click();
    await page.reload();
    await settled(watched);
    await revert.last().click();
    await dialog.getByRole('button', { name: /^Revert 1/ }).click();
    await page.getByText(/^1.setting of orders reverted$/).waitFor();
    await says(page, /^jf_.+ changed the concurrency at .+\.$/);
    await page.locator('main :focus').waitFor();
    const { queue } = await account.graphql.query('{ queue(name: "orders") { concurrency maxAttempts } }');
    expect(queue).toEqual({ concurrency: 5, maxAttempts: 8 });
  });
});
