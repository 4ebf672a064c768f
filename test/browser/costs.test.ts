import { beforeAll, describe, expect, it } from 'vitest';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, setVisibility, useBrowser } from './page.ts';
import { followTo, SCREENS, settled, showScreen } from './screens.ts';
import { type SeededService, seedService } from './seed.ts';
import { relayStatements, type StatementRelay } from './statement-relay.ts';

/** The costs of a screen for the service, counted. Times are measured by `npm run rig dashboard`. */

const MOST_STATEMENTS = 13;
/** They look for trouble of queues that have no decisive answer in the last hour: it depends on the age of the seed. */
const OF_THE_PAST = /^(last-spans-of-failed-queues|last-failures-within-spans)/;
const MOST_OF_THE_PAST = 2;
const MOST_REQUESTS = 6;
/**
 * Reads of the session and of releases, for all requests of a few seconds together,
 * the process's own of each two seconds, and time limits that a slow machine shortens: any screen may meet them.
 */
const ONCE_IN_A_WHILE = /^(session-by-hash|release-runs|tunnelled-queues|followed-queues|set statement_timeout)/;

describe.skipIf(NO_BROWSER !== null)('the costs of the dashboard', () => {
  let service: SeededService;
  let relay: StatementRelay;
  useBrowser();
  beforeAll(async () => {
    service = await seedService({
      // The rules of alerts are evaluated whether or not there is a dashboard.
      env: { ALERT_INTERVAL_SECONDS: '0' },
      reachOfApi: async (url) => {
        relay = await relayStatements(url);
        return relay.url;
      },
    });
    // Nothing changes from here on: a page that is slow to load would read a change in addition to what it shows.
    await service.worker.stop();
  });

  // The statements of the shell, which every screen shares, are those of the first page. It is asked again every 30 s.
  it.each(SCREENS.map(({ name }) => name))(`%s costs at most ${MOST_STATEMENTS} statements`, async (name) => {
    const watched = await openPage(service.session);
    relay.taken();
    await showScreen(watched, 'not-found', service);
    const ofShell = relay.taken();
    expect(ofShell.length, ofShell.join('\n')).toBeLessThanOrEqual(MOST_STATEMENTS);
    await followTo(watched, name, service);
    const statements = relay
      .taken()
      .filter((statement) => !ONCE_IN_A_WHILE.test(statement))
      .map((statement) => statement.slice(0, 160));
    const ofThePast = statements.filter((statement) => OF_THE_PAST.test(statement));
    expect(ofThePast.length).toBeLessThanOrEqual(MOST_OF_THE_PAST);
    expect(statements.length - ofThePast.length, statements.join('\n')).toBeLessThanOrEqual(MOST_STATEMENTS);
  });

  it(`shows the first rows after at most ${MOST_REQUESTS} requests`, async () => {
    const { page } = await openPage(service.session);
    await page.addInitScript(noteRequestsToFirstRow);
    await page.goto('/jobs');
    await page.locator('tbody tr').first().waitFor();
    const needed = await page.evaluate(requestsToFirstRow);
    expect(needed.length, needed.join('\n')).toBeLessThanOrEqual(MOST_REQUESTS);
    // Work that was put off for the rows comes after them.
    await page.getByRole('button', { name: /^Live/ }).waitFor();
    await page.getByRole('combobox', { name: 'Add a condition' }).waitFor();
    await page.locator('h1', { hasText: /jobs match|jobs/ }).waitFor();
  });

  it('closes the stream of a hidden tab, and reads again when it is seen', async () => {
    const watched = await openPage(service.session);
    const { page } = watched;
    await page.goto('/jobs');
    await settled(watched);
    await setVisibility(page, 'hidden');
    await page.getByRole('button', { name: /^Not connected/ }).waitFor();
    const before = watched.requests.length;
    await setVisibility(page, 'visible');
    await page.getByRole('button', { name: /^Live/ }).waitFor();
    await expect.poll(() => watched.requests.length).toBeGreaterThan(before + 1);
  });

  it('is live in the seventh tab of a browser, which opens six connections to a host', async () => {
    const { page } = await openPage(service.session);
    const tabs = [page];
    await page.goto('/jobs');
    for (let n = 1; n < 7; n += 1) {
      await setVisibility(tabs[n - 1] ?? page, 'hidden');
      const tab = await page.context().newPage();
      await tab.goto('/jobs');
      tabs.push(tab);
    }
    const seventh = tabs[6] ?? page;
    await seventh.getByRole('button', { name: /^Live/ }).waitFor();
    await seventh.locator('tbody tr').first().waitFor();
  });
});

interface Noted {
  firstRowAt: number;
  fetches: string[];
}

/** Runs before the page's scripts. A stream that is open is in no list of resources, so `fetch` itself is watched. */
function noteRequestsToFirstRow(): void {
  const noted: Noted = { firstRowAt: Number.POSITIVE_INFINITY, fetches: [] };
  Object.assign(globalThis, { noted });
  const hasRow = () => document.querySelector('tbody tr') !== null;
  const { fetch } = globalThis;
  globalThis.fetch = (...request) => {
    if (!hasRow()) noted.fetches.push(`${request[0]} ${String(request[1]?.body).slice(0, 60)}`);
    return fetch(...request);
  };
  new MutationObserver((_changes, observer) => {
    if (!hasRow()) return;
    noted.firstRowAt = performance.now();
    observer.disconnect();
  }).observe(document, { childList: true, subtree: true });
}

/** The page itself, what it loads, and what it asks for, up to its first row. */
function requestsToFirstRow(): string[] {
  const { noted } = globalThis as unknown as { noted: Noted };
  const loaded = (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).filter(
    ({ initiatorType, name, startTime }) =>
      initiatorType !== 'fetch' && !name.includes('favicon') && startTime < noted.firstRowAt,
  );
  return [location.href, ...loaded.map(({ name }) => name), ...noted.fetches];
}
