import { beforeAll, describe, expect, it } from 'vitest';
import { axeViolations, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { NARROW, openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { type SmallService, startSmallService } from './small-service.ts';
import type { WatchedPage } from './watched-page.ts';

/** Filters under a name, for everyone: saved beside the filter box, opened there and by the palette, deleted there. */

describe.skipIf(NO_BROWSER !== null)('a saved view', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  /** Opens a list with its menu of views. */
  async function openMenu(watched: WatchedPage, path: string) {
    const { page } = watched;
    await page.goto(path);
    await settled(watched);
    await page.getByRole('button', { name: 'Views' }).click();
    return page.locator('.menu:popover-open');
  }

  const addressOf = ({ page }: WatchedPage) => new URL(page.url()).pathname + new URL(page.url()).search;

  it('is there after a reload, opens from the palette, and is deleted, which can be undone', async () => {
    const watched = await openPage((await service.openAccount()).session);
    const { page } = watched;
    const filtered = '/jobs?q=state:dead,held+payload.customer.id:42&order=oldest';
    // A brushed range is of a moment, and not part of the view.
    let menu = await openMenu(watched, `${filtered}&from=2026-11-12T10:00:00Z&to=2026-11-12T11:00:00Z`);
    await menu.getByText('No view of this page is saved yet.').waitFor();
    await menu.getByLabel('Name of the view').fill('Refunds of 42');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Saved “Refunds of 42” for everyone').waitFor();
    await menu.getByRole('link', { name: 'Refunds of 42' }).waitFor();
    expect(await axeViolations(page)).toEqual([]);
    expect(await menu.getByLabel('Name of the view').inputValue()).toBe('');

    await menu.getByLabel('Name of the view').fill('Refunds of 42');
    await menu.getByRole('button', { name: 'Save view' }).click();
    await page.getByText('Not saved: a view with the name “Refunds of 42” exists: delete it first').waitFor();

    await page.goto('/queues');
    await settled(watched);
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('combobox', { name: 'Find or do anything' }).fill('refunds');
    await page.getByRole('option', { name: 'Refunds of 42' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => addressOf(watched)).toBe(filtered);
    await settled(watched);

    menu = await openMenu(watched, '/jobs');
    // Nothing is filtered, so there is nothing to save.
    expect(await menu.getByLabel('Name of the view').count()).toBe(0);
    await menu.getByRole('link', { name: 'Refunds of 42' }).click();
    await expect.poll(() => addressOf(watched)).toBe(filtered);
    await menu.waitFor({ state: 'hidden' });

    menu = await openMenu(watched, filtered);
    await menu.getByRole('button', { name: 'Delete Refunds of 42' }).click();
    await menu.getByText('No view of this page is saved yet.').waitFor();
    await menu.locator('button:focus').waitFor();
    await page.keyboard.press('z');
    await menu.getByRole('link', { name: 'Refunds of 42' }).waitFor();
    await menu.getByRole('button', { name: 'Delete Refunds of 42' }).click();
    await menu.getByText('No view of this page is saved yet.').waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('ControlOrMeta+k');
    await page.getByRole('combobox', { name: 'Find or do anything' }).fill('refunds');
    await page
      .getByRole('option', { name: /contains “refunds”/ })
      .first()
      .waitFor();
    expect(await page.getByRole('option', { name: 'Refunds of 42' }).count()).toBe(0);
  });

  it('is of one page, with its grouping, and fits a phone', async () => {
    const { session } = await service.openAccount();
    const watched = await openPage(session, NARROW);
    const { page } = watched;
    const filtered = '/dead?tab=all&q=code:5xx';
    let menu = await openMenu(watched, filtered);
    await menu.getByLabel('Name of the view').fill('W'.repeat(64));
    await menu.getByRole('button', { name: 'Save view' }).click();
    await menu.getByRole('link', { name: 'W'.repeat(64) }).waitFor();
    expect(await widerThanWindow(page)).toEqual([]);
    expect(await axeViolations(page)).toEqual([]);
    menu = await openMenu(watched, '/jobs');
    await menu.getByText('No view of this page is saved yet.').waitFor();
    menu = await openMenu(watched, '/dead');
    await menu.getByRole('link', { name: 'W'.repeat(64) }).click();
    await expect.poll(() => addressOf(watched)).toBe('/dead?q=code:5xx&tab=all');
  });
});
