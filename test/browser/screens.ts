import type { Locator, Page } from 'playwright-core';
import type { SeededService } from './seed.ts';
import type { WatchedPage } from './watched-page.ts';

/** Every screen of the dashboard, by the name that its pictures and tests have. */
export interface Screen {
  name: string;
  path(service: SeededService): string;
}

export const SCREENS: readonly Screen[] = [
  { name: 'overview', path: () => '/' },
  { name: 'queues', path: () => '/queues' },
  { name: 'receivers', path: () => '/receivers' },
  { name: 'queue', path: () => '/queues/search-index' },
  { name: 'queue-settings', path: () => '/queues/search-index/edit' },
  { name: 'queue-changes', path: () => '/queues/search-index/changes' },
  { name: 'send', path: () => '/queues/order-events/send' },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'jobs-filtered', path: () => `/jobs?q=${encodeURIComponent('state:dead payload.customer.id:42')}` },
  { name: 'attempts', path: () => '/jobs/attempts' },
  { name: 'job-retrying', path: ({ jobs }) => `/jobs/${jobs.retrying}` },
  { name: 'job-held', path: ({ jobs }) => `/jobs/${jobs.held}` },
  { name: 'job-dead', path: ({ jobs }) => `/jobs/${jobs.exact}` },
  { name: 'compare', path: ({ jobs }) => `/jobs/${jobs.retrying}/compare` },
  { name: 'dead-letters', path: () => '/dead' },
  { name: 'actions', path: () => '/actions' },
  { name: 'action', path: ({ actions }) => `/actions/${actions.running}` },
  { name: 'alerts', path: () => '/alerts' },
  { name: 'activity', path: () => '/activity' },
  { name: 'system', path: () => '/system' },
  { name: 'settings', path: () => '/settings' },
  { name: 'members', path: () => '/settings/members' },
  { name: 'sessions', path: () => '/settings/sessions' },
  { name: 'not-found', path: () => '/no-such-page' },
];

/** Opens a screen and waits until it stands: all is loaded, and the live stream is open. */
export async function showScreen(watched: WatchedPage, name: string, service: SeededService): Promise<void> {
  await watched.page.goto(pathOf(name, service));
  await settled(watched);
}

/** Goes to a screen within the page, as by a link. */
export async function followTo(watched: WatchedPage, name: string, service: SeededService): Promise<void> {
  await watched.page.evaluate((path) => history.pushState(null, '', path), pathOf(name, service));
  await settled(watched);
}

function pathOf(name: string, service: SeededService): string {
  const screen = SCREENS.find((other) => other.name === name);
  if (screen === undefined) throw new Error(`there is no screen ${name}`);
  return screen.path(service);
}

export async function settled(watched: WatchedPage): Promise<void> {
  const { page } = watched;
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() =>
    /Live|Paused/.test(document.querySelector('.live')?.parentElement?.textContent ?? ''),
  );
  await watched.atRest();
  await page.locator('.skel').first().waitFor({ state: 'detached' });
}

/** The row of a job in the list of jobs. */
export function rowOf(page: Page, id: string): Locator {
  return page.locator('tr', { has: page.locator(`a[data-job="${id}"]`) });
}
