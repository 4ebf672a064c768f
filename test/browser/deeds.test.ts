import { beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled, showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';

/** Deeds without a question before them, as they can be undone or change nothing. */

describe.skipIf(NO_BROWSER !== null)('in the dashboard', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  }, 60_000);

  it('an action is paused and resumed by a key', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'action', service);
    const { page } = watched;
    await page.keyboard.press('p');
    await page.getByRole('heading', { level: 1, name: /^Paused by .+ after .+ of/ }).waitFor();
    await page.getByRole('button', { name: /^Resume( p)?$/ }).waitFor();
    await page.reload();
    await settled(watched);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toMatch(/^Paused by/);
    await page.keyboard.press('p');
    await page.getByRole('button', { name: /^Pause( p)?$/ }).waitFor();
  });

  it('a cause of dead letters is dismissed, found again and restored', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'dead-letters', service);
    const { page } = watched;
    const causes = page.locator('.causes > li');
    const before = await causes.count();
    const title = (await causes.first().getByRole('link').first().textContent()) ?? '';
    await page.keyboard.press('d');
    await page.getByText('Choose a row first, with j and k').waitFor();
    await causes.first().getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('Dismissed in all queues, until it occurs again').waitFor();
    // It is a cause in each of the queues in which jobs died of it.
    await expect.poll(() => causes.count()).toBeLessThan(before);
    const hidden = before - (await causes.count());
    // What had the focus is gone; the next one has it.
    expect(await causes.locator('.rowlink:focus').count()).toBe(1);
    await page.getByRole('link', { name: 'Dismissed', exact: true }).click();
    await page
      .getByRole('heading', { level: 1, name: / back in the list when jobs die of (it|them) again\.$/ })
      .waitFor();
    await expect.poll(() => causes.count()).toBe(hidden);
    expect(await causes.getByRole('link').allTextContents()).toContain(title);
    await causes.first().getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('heading', { level: 1, name: /^No dead letter of a dismissed cause is left/ }).waitFor();
    await page.getByRole('link', { name: 'By cause' }).click();
    await expect.poll(() => causes.count()).toBe(before);
  });

  it('a receiver is checked from the menu of its queue', async () => {
    const watched = await openPage(service.session);
    await showScreen(watched, 'queue', service);
    const { page } = watched;
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('button', { name: 'Check the receiver' }).click();
    await page
      .getByRole('status')
      .getByText(/signature/)
      .waitFor({ timeout: 30_000 });
  });
});
