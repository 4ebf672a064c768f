import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterEach, beforeAll } from 'vitest';
import { signIn } from '../support/browser-session.ts';
import { builtService } from '../support/built.ts';
import { launchChromium } from './chromium.ts';
import { reportPolicyViolations, WatchedPage } from './watched-page.ts';

/** How a person looks at a page. */
export interface View {
  theme?: 'light' | 'dark';
  /** CSS pixels of the window: 1440 by default. */
  width?: number;
  height?: number;
  /** As set in the browser: 2 is 200 %, which leaves half as many CSS pixels. */
  zoom?: number;
  forcedColors?: boolean;
  reducedMotion?: boolean;
  /** Fingers instead of a mouse. */
  touch?: boolean;
  /** Where the person is: `UTC` by default. */
  timezone?: string;
}

export const DESKTOP: View = { width: 1440 };
export const PHONE: View = { width: 390, height: 844, touch: true };
/** The narrowest window that the dashboard is made for: a desktop of 1280 at 400 % (WCAG 1.4.10). */
export const NARROW: View = { width: 320, height: 720 };

export interface OpenOptions extends View {
  /** Milliseconds by which the clock of this computer is ahead of the server's. */
  clockAheadMs?: number;
}

/** One for the process of vitest, which ends it: contexts keep pages apart. */
let browser: Browser | null = null;
const open = new Set<WatchedPage>();

/** For the top of a file: its pages are closed after each test, which fails if one of them has a complaint. */
export function useBrowser(): void {
  beforeAll(async () => {
    builtService();
    if (browser?.isConnected() !== true) browser = await launchChromium();
  });
  afterEach(async () => {
    const pages = [...open];
    open.clear();
    const ends = await Promise.allSettled(pages.map((page) => page.close()));
    const failures = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as Error] : []));
    if (failures.length > 0) throw new Error(failures.map(({ message }) => message).join('\n'));
  });
}

/** An address of the dashboard, and the cookie of a person who has signed in there. */
export interface Session {
  url: string;
  /** Name and value; null for a person who has not signed in. */
  cookie: { name: string; value: string } | null;
}

export async function signInAt(url: string, apiKey: string): Promise<Session> {
  const [name = '', value = ''] = (await signIn(url, { apiKey })).cookie.split('=');
  return { url, cookie: { name, value } };
}

/** A new person at a new window: nothing stored and nothing cached but the session. */
export async function openPage({ url, cookie }: Session, view: OpenOptions = {}): Promise<WatchedPage> {
  if (browser === null) throw new Error('call useBrowser() at the top of the test file');
  const context = await browser.newContext({ ...optionsOf(view), baseURL: url });
  if (cookie !== null) await context.addCookies([{ ...cookie, url, httpOnly: true, sameSite: 'Strict' }]);
  context.setDefaultTimeout(60_000);
  await context.addInitScript(reportPolicyViolations);
  if (view.clockAheadMs !== undefined) await context.addInitScript(shiftClock, view.clockAheadMs);
  const watched = new WatchedPage(await context.newPage(), new URL(url).origin);
  open.add(watched);
  return watched;
}

/** Changes how a person looks at the page, and waits until the page looks like it. */
export async function setMedia(page: Page, media: Parameters<Page['emulateMedia']>[0]): Promise<void> {
  await page.emulateMedia(media);
  await page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    for (const animation of document.getAnimations()) animation.finish();
  });
}

/** Hides the tab, or shows it again. A headless browser shows every tab, so the page is told what it would be told. */
export async function setVisibility(page: Page, state: 'hidden' | 'visible'): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => value });
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => value === 'hidden' });
    document.dispatchEvent(new Event('visibilitychange'));
  }, state);
}

function optionsOf(view: View): BrowserContextOptions {
  const { theme = 'light', width = 1440, height = 900, zoom = 1 } = view;
  return {
    viewport: { width: Math.round(width / zoom), height: Math.round(height / zoom) },
    deviceScaleFactor: zoom,
    colorScheme: theme,
    forcedColors: view.forcedColors ? 'active' : 'none',
    reducedMotion: view.reducedMotion ? 'reduce' : 'no-preference',
    hasTouch: view.touch ?? false,
    isMobile: view.touch ?? false,
    locale: 'en-GB',
    timezoneId: view.timezone ?? 'UTC',
  };
}

function shiftClock(byMs: number): void {
  const { now } = Date;
  const Original = Date;
  const shifted = () => now() + byMs;
  globalThis.Date = new Proxy(Original, {
    construct: (target, values: []) => (values.length === 0 ? new target(shifted()) : new target(...values)),
    apply: () => new Original(shifted()).toString(),
    get: (target, name) => (name === 'now' ? shifted : Reflect.get(target, name)),
  });
}
