import { beforeAll, describe, it } from 'vitest';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';

/** The dashboard in browsers with odd languages. */

describe.skipIf(NO_BROWSER !== null)('an odd language', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    service = await seedService();
  }, 60_000);

  // Chromium says `C` or an empty text where the system has no language, and some extensions say anything.
  it.each(['C', '', 'en_US.UTF-8'])('draws its charts in a browser whose language is “%s”', async (language) => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.addInitScript((value) => {
      Object.defineProperty(navigator, 'language', { get: () => value });
    }, language);
    await showScreen(watched, 'queue', service);
    await page.locator('figure.chart svg text').first().waitFor();
  });
});
