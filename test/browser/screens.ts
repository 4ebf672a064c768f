import type { Page } from 'playwright-core';
import type { SeededService } from './seed.ts';

/** Every screen of the dashboard, by the name that its pictures and tests have. */
export interface Screen {
  name: string;
  path(service: SeededService): string;
}

export const SCREENS: readonly Screen[] = [
  { name: 'overview', path: () => '/' },
  { name: 'queues', path: () => '/queues' },
  { name: 'queue', path: () => '/queues/search-index' },
  { name: 'queue-settings', path: () => '/queues/search-index/edit' },
  { name: 'send', path: () => '/queues/order-events/send' },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'jobs-filtered', path: () => `/jobs?q=${encodeURIComponent('state:dead payload.customer.id:42')}` },
  { name: 'job-retrying', path: ({ jobs }) => `/jobs/${jobs.retrying}` },
  { name: 'job-held', path: ({ jobs }) => `/jobs/${jobs.held}` },
  { name: 'job-dead', path: ({ jobs }) => `/jobs/${jobs.exact}` },
  { name: 'dead-letters', path: () => '/dead' },
  { name: 'actions', path: () => '/actions' },
  { name: 'action', path: ({ actions }) => `/actions/${actions.running}` },
  { name: 'activity', path: () => '/activity' },
  { name: 'system', path: () => '/system' },
  { name: 'settings', path: () => '/settings' },
];

/** Opens a screen and waits until it stands: its answer is there, nothing is loading, and the stream is open. */
export async function showScreen(page: Page, name: string, service: SeededService): Promise<void> {
  const screen = SCREENS.find((other) => other.name === name);
  if (screen === undefined) throw new Error(`there is no screen ${name}`);
  await page.goto(screen.path(service));
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(
    () =>
      document.querySelector('[aria-busy="true"], .skeleton') === null &&
      /Live|Paused/.test(document.querySelector('.live')?.parentElement?.textContent ?? ''),
  );
}
