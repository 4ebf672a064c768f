import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, it } from 'vitest';
import { DESKTOP, openPage, PHONE, useBrowser } from './page.ts';
import { withPalette } from './png.ts';
import { SCREENS, settled, showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';

/**
 * `npm run rig screenshots`: every screen, light and dark, wide and on a phone. A page with a complaint fails here,
 * too.
 */

const FOLDER = process.env.SCREENSHOTS_FOLDER ?? join(import.meta.dirname, '../../docs/dashboard');
const SIZES = { '': DESKTOP, '-phone': PHONE };

describe('pictures', () => {
  let service: SeededService;
  useBrowser();
  beforeAll(async () => {
    await mkdir(FOLDER, { recursive: true });
    service = await seedService();
  }, 60_000);

  const views = Object.entries(SIZES).flatMap(([suffix, view]) =>
    (['light', 'dark'] as const).map((theme) => ({ suffix, view, theme })),
  );
  it.each(SCREENS.map(({ name }) => name))('%s', async (name) => {
    for (const { suffix, view, theme } of views) {
      const watched = await openPage(service.session, { ...view, theme, reducedMotion: true });
      await showScreen(watched, name, service);
      await picture(watched, `${name}${suffix}-${theme}.png`);
    }
  });

  it('sign-in', async () => {
    for (const { suffix, view, theme } of views) {
      const watched = await openPage({ ...service.session, cookie: null }, { ...view, theme });
      await watched.page.goto('/sign-in');
      await watched.page.getByLabel('API key').waitFor();
      await picture(watched, `sign-in${suffix}-${theme}.png`);
    }
  });

  it('jobs, with the peek panel', async () => {
    for (const theme of ['light', 'dark'] as const) {
      const watched = await openPage(service.session, { ...DESKTOP, theme, reducedMotion: true });
      await watched.page.goto(`/jobs?q=${encodeURIComponent('queue:order-events')}&peek=${service.jobs.retrying}`);
      await settled(watched);
      await picture(watched, `jobs-peek-${theme}.png`);
    }
  });
});

async function picture({ page }: Awaited<ReturnType<typeof openPage>>, name: string): Promise<void> {
  // The focus of the heading, which a person who has just arrived sees nowhere.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  const png = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  await writeFile(join(FOLDER, name), withPalette(png));
}
