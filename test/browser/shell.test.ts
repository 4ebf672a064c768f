import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { createGate, openReceiver } from '../support/service.ts';
import { focused, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, PHONE, useBrowser, type View } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';
import type { WatchedPage } from './watched-page.ts';

/** The frame of every screen: the palette, the keys and their help, taste, and the tabs of a phone. */

describe.skipIf(NO_BROWSER !== null)('the shell', () => {
  let service: SmallService;
  let account: Account;
  let jobId: string;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
    account = await service.openAccount();
    await account.createQueue('order-events', await openReceiver());
    jobId = await account.publishUntil('COMPLETED', 'order-events');
  });

  it('finds a queue, a job and an action by the palette, and gives the focus back', async () => {
    const { page } = await show('/jobs');
    await page.keyboard.press('/');
    const before = (await focused(page)).name;
    await openPalette(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect((await focused(page)).name).toBe(before);

    await openPalette(page);
    await page.keyboard.type('order-e');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/queues/order-events');

    await openPalette(page);
    await page.keyboard.type(jobId);
    await page.keyboard.press('Enter');
    await says(page, /^Completed at /);
    expect(new URL(page.url()).pathname).toBe(`/jobs/${jobId}`);

    await page.goto('/queues/order-events');
    await says(page, /^Running|^Idle/);
    await openPalette(page);
    await page.keyboard.type('>pause this');
    const offers = page.getByRole('option');
    await expect.poll(() => offers.count()).toBe(1);
    await page.keyboard.press('Enter');
    await says(page, /^Paused since /);
    await page.keyboard.press('p');
    await says(page, /^Running|^Idle/);

    // Words for what is on no screen, or on another one.
    await openPalette(page);
    await page.keyboard.type('dark');
    await page.getByRole('option', { name: 'Dark theme' }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('html').getAttribute('data-theme')).toBe('dark');
    for (const [word, path] of [
      ['replay', '/dead'],
      ['why', '/jobs'],
    ] as const) {
      await openPalette(page);
      await page.keyboard.type(word);
      await page.getByRole('option', { name: /^(Replay dead letters|Why do jobs wait)/ }).waitFor();
      await page.keyboard.press('Enter');
      await expect.poll(() => new URL(page.url()).pathname).toBe(path);
    }
  });

  it('gives no key to the page while the palette is still loaded, and the palette what was typed', async () => {
    const { page, loadScripts } = await showWithout('find', '/queues/order-events', /^Running|^Idle/);
    await page.keyboard.press('Control+k');
    await page.keyboard.type('po');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('order-');
    loadScripts();
    const input = page.getByRole('combobox', { name: 'Find or do anything' });
    await input.waitFor();
    expect(await input.inputValue()).toBe('order-');
    await page.keyboard.type('ev');
    await page.getByRole('option', { name: /^order-events/ }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await says(page, /^Running|^Idle/);
    await openPalette(page);
    expect(await input.inputValue()).toBe('');
  });

  it('gives no key to the page or its fields while the help is still loaded, and forgets it by Esc', async () => {
    const { page, loadScripts } = await showWithout('find', '/jobs', /^1 job/);
    await page.keyboard.press('?');
    await page.keyboard.type('a/x');
    await page.keyboard.press('Escape');
    await page.keyboard.press('a');
    await page.getByText(/matches are selected/).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Escape');
    loadScripts();
    // The input with suggestions takes the place of the plain one.
    await page.getByRole('combobox', { name: 'Add a condition' }).waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('code:');
    expect(await page.getByLabel('Add a condition').inputValue()).toBe('code:');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('offers jobs with a word that is no name', async () => {
    const { page } = await show('/');
    await openPalette(page);
    await page.keyboard.type('timeout');
    await page.getByRole('option', { name: /^Jobs: error:~timeout/ }).click();
    await page.waitForURL('**/jobs?**');
    expect(new URL(page.url()).searchParams.get('q')).toBe('error:~timeout');
  });

  it('lists the keys of the screen that one is on, and single keys can be turned off', async () => {
    const { page } = await show('/queues/order-events');
    await page.setViewportSize({ width: 1440, height: 500 });
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keys of this screen' });
    await help.waitFor();
    expect(await help.evaluate((dialog) => [dialog.scrollTop, dialog.scrollHeight > dialog.clientHeight])).toEqual([
      ...[0, true],
    ]);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    expect(await keysOf(page)).toMatchObject({ p: 'Pause this queue', s: 'Send a test job', 'g j': 'Go to Jobs' });
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await says(page, /^No dead letters\.$/);
    expect(await keysOf(page)).not.toHaveProperty('p');
    expect(await keysOf(page)).toHaveProperty('/', 'Filter');

    await page.goto('/settings/display');
    await page.getByRole('group', { name: 'Single keys' }).getByLabel('Off').check();
    await page.locator('h1').focus();
    await page.keyboard.press('?');
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await openPalette(page);
    expect(new URL(page.url()).pathname).toBe('/settings/display');
    expect(await page.getByRole('dialog').count()).toBe(1);
  });

  it('keeps theme, density and time zone, at once and in every tab', async () => {
    const watched = await show('/settings/display', { timezone: 'Asia/Tokyo' });
    const { page } = watched;
    const other = await page.context().newPage();
    await other.goto(`/jobs/${jobId}`);
    await says(other, /^Completed at /);
    const ink = () => other.evaluate(() => getComputedStyle(document.body).color);
    const light = await ink();
    await page.getByLabel('Dark').check();
    await expect.poll(ink).not.toBe(light);
    await page.getByLabel('Compact').check();
    await expect.poll(() => other.locator('html').getAttribute('data-density')).toBe('compact');

    const utc = secondOfDay(await says(other, /^Completed at /));
    await page.getByRole('group', { name: 'Time zone' }).getByLabel('Local').check();
    await expect.poll(async () => secondOfDay(await other.locator('h1').innerText())).toBe((utc + 9 * 3600) % 86_400);
    await other.reload();
    await settled(watched);
    expect(await ink()).not.toBe(light);
  });

  it('has five tabs on a phone, and no screen is wider than it', async () => {
    const watched = await show('/', PHONE);
    const { page } = watched;
    const tabs = page.getByRole('navigation', { name: 'Main, phone' });
    expect((await tabs.locator('a, button').allInnerTexts()).map(textOf)).toEqual([
      ...['Overview', 'Queues', 'Jobs', 'Dead', 'More'],
    ]);
    for (const [tab, path] of [
      ['Queues', '/queues'],
      ['Jobs', '/jobs'],
      ['Dead', '/dead'],
      ['Overview', '/'],
    ] as const) {
      await tabs.getByRole('link', { name: tab }).tap();
      await page.waitForURL((url) => url.pathname === path);
      await settled(watched);
      expect(await widerThanWindow(page), path).toEqual([]);
      expect(await tabs.getByRole('link', { name: tab }).getAttribute('aria-current')).toBe('page');
    }
    await tabs.getByRole('button', { name: 'More' }).tap();
    await page.getByRole('option', { name: /^Settings/ }).tap();
    await says(page, /^\d active keys?\.$/);
    expect(await widerThanWindow(page)).toEqual([]);
  });

  /** A page whose script of this name does not come until it is let through. */
  async function showWithout(script: string, path: string, sentence: RegExp) {
    const { page } = await openPage(account.session);
    const gate = createGate();
    await page.route(new RegExp(`/${script}-[^/]+\\.js$`), async (route) => {
      await gate.opened;
      await route.continue();
    });
    await page.goto(path);
    await says(page, sentence);
    return { page, loadScripts: () => gate.open() };
  }

  async function show(path: string, view: View = {}): Promise<WatchedPage> {
    const watched = await openPage(account.session, view);
    await watched.page.goto(path);
    await settled(watched);
    return watched;
  }
});

function secondOfDay(sentence: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = (/\d\d:\d\d:\d\d/.exec(sentence)?.[0] ?? '').split(':').map(Number);
  return hours * 3600 + minutes * 60 + seconds;
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find or do anything' }).waitFor();
}

/** The list of `?`, by key. */
async function keysOf(page: Page): Promise<Record<string, string>> {
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keys of this screen' });
  await help.waitFor();
  const lines = await help.locator('tbody tr').evaluateAll((rows) =>
    rows.map((row) => {
      const keys = [...row.querySelectorAll('kbd')].map((key) => key.textContent);
      return [keys.join(' '), row.querySelector('td:last-child')?.textContent ?? ''] as const;
    }),
  );
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  return Object.fromEntries(lines);
}
