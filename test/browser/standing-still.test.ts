import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { NO_BROWSER } from './no-browser.ts';
import { DESKTOP, type OpenOptions, openPage, PHONE, useBrowser } from './page.ts';
import { HTML_ANSWER } from './payloads.ts';
import { rowOf, settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';
import type { WatchedPage } from './watched-page.ts';

/**
 * Numbers and rows change in place: nothing moves, nothing is late by a wrong clock, and nothing that is text is run.
 */

const CHANGES_PER_SECOND = 200;
const SECONDS = 3;

describe.skipIf(NO_BROWSER !== null)('a screen that changes', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it(`shifts nothing at ${CHANGES_PER_SECOND} changes a second`, async () => {
    const account = await service.openAccount();
    await account.createQueue('events', await openReceiver(), { concurrency: 50 });
    await account.createQueue('slow', await openReceiver({ delayMs: 500 }), { concurrency: 2 });
    // Jobs that stay open, so that neither queue becomes idle meanwhile, which has its own place in the order.
    await account.operate.publish('events', ['{}'], 3600);
    await account.operate.publish('slow', ['{}'], 3600);
    const rows = await account.operate.publish(
      'events',
      Array.from({ length: 50 }, () => '{}'),
      3600,
    );
    const screens = ['/', '/queues/events', '/jobs?q=queue:events'];
    const pages = await Promise.all(screens.map(async (path) => (await show(account, path)).page));
    const list = pages[2] as Page;
    await Promise.all(pages.map(watchShifts));
    const before = await rowTops(list);
    await changeRows(account, rows);
    // All of the fifty that were scheduled, each in its row.
    const completed = list.locator('tbody .c1', { hasText: 'Completed' });
    await waitFor(async () => (await completed.count()) === rows.length, { message: 'the end of all rows' });
    expect(await rowTops(list)).toEqual(before);
    const shifts = await Promise.all(pages.map(async (page, n) => [screens[n], await shiftsOf(page)]));
    expect(shifts).toEqual(screens.map((path) => [path, []]));
  });

  it.each([
    // On a phone, the heading has more lines with the numbers than before them.
    ['/settings/plan', PHONE, 0.018],
    ['/queues/orders?compare=day', DESKTOP, 0.005],
  ])('%s stands while its parts arrive', async (path, view, limit) => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    await account.publishUntil('COMPLETED', 'orders');
    const { page } = await show(account, path, view);
    expect(await layoutShift(page)).toBeLessThan(limit);
  });

  it('moves no row when one is selected, or when new ones match, and shows them in an empty list', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    await account.operate.publish('orders', ['{}', '{}', '{}'], 3600);
    const { page } = await show(account, '/jobs');
    const { page: empty } = await show(account, '/jobs?q=key:~later');
    await says(empty, /^No job matches\.$/);
    const before = await rowTops(page);
    await page.locator('tbody').getByRole('checkbox').nth(1).click();
    await page.getByText('1 selected.').waitFor();
    expect(await rowTops(page)).toEqual(before);
    await page.keyboard.press('Escape');
    await account.operate.publish('orders', ['{}'], 3600);
    await account.graphql.query(
      `mutation { publishJob(queue: "orders", input: { payloadText: "{}", idempotencyKey: "later", delay: 3600 }) {
         __typename } }`,
    );
    const news = page.getByRole('button', { name: '2 new jobs match. Show them' });
    await news.waitFor();
    expect(await rowTops(page)).toEqual(before);
    await news.click();
    await says(page, /^5 jobs: all are scheduled\.$/);
    await page.locator('tbody tr').nth(4).waitFor();
    // Nothing can move there.
    await says(empty, /^1 job matches/);
    await empty.locator('tbody tr').waitFor();
  });

  it('counts down by the clock of the server, ten minutes away from that of this computer', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const [id = ''] = await account.operate.publish('orders', ['{}'], 95);
    const { job } = await account.graphql.query('query ($id: ID!) { job(id: $id) { scheduledFor } }', { id });
    const secondsLeft = () => (Date.parse(job.scheduledFor) - Date.now()) / 1000;
    for (const clockAheadMs of [-600_000, 600_000]) {
      const most = secondsLeft();
      const { page } = await show(account, `/jobs/${id}`, { clockAheadMs });
      const said = await says(page, /^Scheduled for .+, in .+\.$/);
      const [, minutes = 0, seconds = 0] = /, in (?:(\d+) min ?)?(?:(\d+) s)?/.exec(said) ?? [];
      // It was read at some time between the two, however long a busy machine takes. A second for the step of the
      // countdown, and one for the way to the page.
      const shown = Number(minutes) * 60 + Number(seconds);
      expect(shown, said).toBeLessThan(most + 2.5);
      expect(shown, said).toBeGreaterThan(secondsLeft() - 2.5);
    }
  });

  it('shows markup in answers and payloads as text, wherever it shows them', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver({ status: 500, body: HTML_ANSWER }), { maxAttempts: 1 });
    const payload = '{"note":"<script>document.title = 1</script><img src=x onerror=alert(1)>"}';
    await account.letDie('orders', [payload]);
    const [dead] = (await account.graphql.query('{ jobs(first: 1) { nodes { id } } }')).jobs.nodes;
    const watched = await show(account, '/dead');
    const { page } = watched;
    expect(await page.locator('ol.causes .said').innerText()).toBe(HTML_ANSWER);
    for (const path of ['/dead?tab=all', '/queues/orders', '/', `/jobs/${dead.id}`, `/jobs?peek=${dead.id}`]) {
      await page.goto(path);
      await settled(watched);
      expect(await page.locator('main :is(script, img, h1 h1)').count(), path).toBe(0);
      expect(await page.title(), path).toMatch(/ · Jobferry$/);
    }
    const peek = page.getByRole('complementary', { name: /^Job …/ });
    await peek.getByText('onerror=alert(1)').waitFor();
    expect(textOf(await peek.innerText())).toContain('<script>document.title = 1</script>');
  });

  it('shows in every tab what was done in one', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const [id = ''] = await account.operate.publish('orders', ['{}'], 3600);
    const [job, jobs, queue, overview] = [
      (await show(account, `/jobs/${id}`)).page,
      (await show(account, '/jobs')).page,
      (await show(account, '/queues/orders')).page,
      (await show(account, '/')).page,
    ];
    await queue.getByRole('link', { name: 'scheduled 1' }).waitFor();
    await job.keyboard.press('r');
    await job.getByText(/ is due now$/).waitFor();
    await says(job, /^Completed at .+: the receiver answered 200/);
    await rowOf(jobs, id).locator('.c1').getByText('Completed').waitFor();
    await queue.getByRole('link', { name: 'scheduled 0' }).waitFor();
    await overview.locator('tbody td.c2', { hasText: /^0 open$/ }).waitFor();
  });

  async function show(account: Account, path: string, options: OpenOptions = {}): Promise<WatchedPage> {
    const watched = await openPage(account.session, options);
    await watched.page.goto(path);
    await settled(watched);
    return watched;
  }
});

/** Publishes jobs at an even pace, and makes the rows due one after another. */
async function changeRows({ graphql, operate }: Account, rows: readonly string[]): Promise<void> {
  const turns = SECONDS * 5;
  const each = Math.ceil(rows.length / turns);
  for (let turn = 0; turn < turns; turn += 1) {
    const next = new Promise((resolve) => setTimeout(resolve, 200));
    // A published job is delivered and completed at once, so its queue changes, and rows as well.
    const due = rows.slice(turn * each, (turn + 1) * each);
    await operate.publish(
      'events',
      Array.from({ length: CHANGES_PER_SECOND / 5 - due.length }, () => '{}'),
    );
    await operate.publish('slow', ['{}']);
    for (const id of due) await graphql.query('mutation ($id: ID!) { runNow(id: $id) { __typename } }', { id });
    await next;
  }
}

/**
 * Notes from now on what moves without being touched: rows, cells, links, buttons. A number may become longer within
 * its cell, and a part of a bar may grow.
 */
async function watchShifts(page: Page): Promise<void> {
  await page.evaluate(() => {
    const shifts: string[] = [];
    Object.assign(globalThis, { shifts });
    type Shift = PerformanceEntry & { sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[] };
    const at = ({ x, y, width, height }: DOMRect) => [x, y, width, height].map(Math.round).join(' ');
    new PerformanceObserver((list) => {
      for (const { sources } of list.getEntries() as Shift[]) {
        for (const { node, previousRect, currentRect } of sources) {
          if (!(node instanceof Element) || node.closest('[role=img]') !== null) continue;
          shifts.push(
            `${node.parentElement?.outerHTML.slice(0, 300)} :: ${node.outerHTML.slice(0, 300)} from ${at(previousRect)} to ${at(currentRect)}`,
          );
        }
      }
    }).observe({ type: 'layout-shift' });
  });
}

async function shiftsOf(page: Page): Promise<string[]> {
  return page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
}

/** How far the page has moved since it was opened. The entry of the navigation is there in any case. */
async function layoutShift(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        type Shift = PerformanceEntry & { value?: number };
        const observer = new PerformanceObserver((list) =>
          resolve((list.getEntries() as Shift[]).reduce((sum, { value = 0 }) => sum + value, 0)),
        );
        for (const type of ['layout-shift', 'navigation']) observer.observe({ type, buffered: true });
      }),
  );
}

function rowTops(page: Page): Promise<number[]> {
  return page.locator('tbody tr').evaluateAll((rows) => rows.map((row) => row.getBoundingClientRect().top));
}
