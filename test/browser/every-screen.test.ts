import { beforeAll, describe, expect, it } from 'vitest';
import { axeViolations, smallTargets, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, setMedia, useBrowser } from './page.ts';
import { SCREENS, showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';
import type { WatchedPage } from './watched-page.ts';

/** Checks of every screen, in both themes, at every width, and in forced colours. */

/** The widths of a wide window, a phone and the narrowest window, and what is left of 1440 at 200 %. */
const WIDTHS = [1440, 720, 390, 320] as const;
/** The rules of axe that look at colours. Themes differ in nothing else. */
const COLOURS = ['color-contrast', 'link-in-text-block'];

describe.skipIf(NO_BROWSER !== null)('every screen', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  });

  it.each(SCREENS.map(({ name }) => name))('%s has no violation and fits its window', async (name) => {
    const watched = await openPage(service.session, { reducedMotion: true });
    await showScreen(watched, name, service);
    expect(await problemsOf(watched)).toEqual({});
  });

  it('sign-in has no violation and fits its window', async () => {
    const watched = await openPage({ ...service.session, cookie: null }, { reducedMotion: true });
    await watched.page.goto('/sign-in');
    await watched.page.getByLabel('API key').waitFor();
    expect(await problemsOf(watched)).toEqual({});
  });

  // Chromium says `C` or an empty text where the system has no language, and some extensions say anything.
  it.each(['C', '', 'en_US.UTF-8'])('charts are drawn in a browser whose language is “%s”', async (language) => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.addInitScript((value) => {
      Object.defineProperty(navigator, 'language', { get: () => value });
    }, language);
    await showScreen(watched, 'queue', service);
    await page.locator('figure.chart svg text').first().waitFor();
  });
});

/** @returns what is wrong, by the view in which it is */
async function problemsOf(watched: WatchedPage): Promise<Record<string, string[]>> {
  const { page } = watched;
  const found: Record<string, string[]> = {};
  const note = (view: string, problems: string[]) => {
    if (problems.length > 0) found[view] = problems;
  };
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await watched.atRest(1);
    note(`width of ${width}`, await widerThanWindow(page));
    note(`targets of ${width}`, await smallTargets(page));
    // At 200 % the layout is that of a phone, only larger; the narrowest window has it, too, only smaller.
    if (width === 720 || width === 320) continue;
    await setMedia(page, { colorScheme: 'light' });
    note(`axe, ${width}, light`, await axeViolations(page));
    await setMedia(page, { colorScheme: 'dark' });
    note(`axe, ${width}, dark`, await axeViolations(page, { only: COLOURS }));
  }
  await setMedia(page, { forcedColors: 'active' });
  // The colours are those of the system then, but axe still finds the page's own in `-webkit-text-fill-color`.
  note('axe, forced colours', await axeViolations(page, { except: ['color-contrast'] }));
  return found;
}
