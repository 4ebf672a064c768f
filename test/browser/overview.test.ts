import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { insertJob, insertWaiting } from './history.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/**
 * The overview: is anything wrong now, and where? The worst queue comes first,
 * and the list stands still while it is read.
 */

describe.skipIf(NO_BROWSER !== null)('the overview', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('says that all is quiet, that all are healthy, and what is not, as it changes', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    const orders = await account.createQueue('orders', receiver);
    const mails = await account.createQueue('mails', receiver);
    await service.inDatabase(async (db) => {
      await insertJob(db, {
        queueId: orders,
        payload: '{}',
        created: 7200,
        status: 'completed',
        history: [{ attempt: 1, status: 'success', at: 7190, code: 200 }],
      });
      // As the roll-up did at the time.
      await db.query(
        `insert into queue_stats (queue_id, bucket, success, durations, waits)
         values ($1, jobferry_bucket(jobferry_now() - interval '7190 s'), 1, array_fill(0, array[32]), array_fill(0, array[32]))`,
        [orders],
      );
    });
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/');
    await settled(watched);
    await says(page, /^All is quiet\. The last attempt ended at .+\.$/);
    await account.operate.publish('orders', ['{}'], 3600);
    await says(page, /^All 2 queues are healthy\b/);
    await account.operate.change('pauseQueue', mails);
    await says(page, /^1 of 2 queues needs attention\. The other one is healthy\.$/);
    expect(textOf(await page.locator('.needs .what').innerText())).toMatch(
      /^Paused since .+ by jf_.+\. 0 jobs wait, nothing is lost\.$/,
    );
    await account.operate.change('resumeQueue', mails);
    await says(page, /^All 2 queues are healthy\b/);
  });

  it('puts the worst queue first when it becomes so, and opens each problem by its key', async () => {
    const account = await service.openAccount();
    const { page } = await showTroubles(account);
    await says(page, /^2 of 4 queues need attention\. The other 2 are healthy\.$/);
    expect(await problems(page)).toEqual(['held', 'paused']);
    await account.letDie(
      'failing',
      Array.from({ length: 10 }, () => '{}'),
    );
    await waitFor(async () => (await problems(page)).join() === 'failing,held,paused', { message: 'the worst first' });
    await says(page, /^3 of 4 queues need attention\. The other one is healthy\.$/);
    expect((await rows(page)).slice(0, 3)).toEqual(['failing', 'held', 'paused']);

    await page.keyboard.press('2');
    await page.waitForURL('**/queues/held');
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await says(page, /^3 of 4 queues/);
    await page.keyboard.press('1');
    await page.waitForURL('**/queues/failing');
    await says(
      page,
      /^The receiver answered 5xx: all 10 attempts of the last hour failed, the last one at .+ with code 500\.$/,
    );
  });

  it('does not change its order while the pointer is in the list', async () => {
    const account = await service.openAccount();
    const { page } = await showTroubles(account);
    await says(page, /^2 of 4/);
    const before = await rows(page);
    await page.locator('tbody tr').nth(2).hover();
    await account.letDie(
      'failing',
      Array.from({ length: 10 }, () => '{}'),
    );
    // The numbers and words change in place.
    await says(page, /^3 of 4 queues need attention\./);
    await page.locator('tr', { hasText: 'failing' }).getByText('Failing', { exact: true }).waitFor();
    await page.getByText('The order has changed. It updates when you leave the list.').waitFor();
    expect(await rows(page)).toEqual(before);
    expect(await problems(page)).toEqual(['held', 'paused']);
    await page.mouse.move(2, 2);
    await waitFor(async () => (await rows(page))[0] === 'failing', { message: 'the worst queue in the first row' });
    expect(await problems(page)).toEqual(['failing', 'held', 'paused']);
  });

  it('walks the list by keyboard, and resumes a queue with one button that can be undone', async () => {
    const account = await service.openAccount();
    const { page } = await showTroubles(account);
    await says(page, /^2 of 4/);
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('paused');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText('paused resumed').waitFor();
    await says(page, /^1 of 4 queues needs attention\./);
    // The button that had the focus is gone, so nothing keeps the list from its new order.
    await waitFor(async () => (await problems(page)).join() === 'held', { message: 'the row to leave the list' });
    await page.locator('h1').focus();
    await page.keyboard.press('z');
    await page.getByText('paused paused').waitFor();
    await says(page, /^2 of 4 queues need attention\./);
  });

  it('says exactly since when no report has come, also when the last attempt is older than the minutes it reads', async () => {
    const account = await service.openAccount();
    const settings = { mode: 'ACK', concurrency: 1, ackTimeout: 7200 };
    const reports = await account.createQueue('reports', await openReceiver(), settings);
    await account.publishUntil('AWAITING_ACK', 'reports');
    const lastAt = await service.inDatabase(async (db) => {
      await insertJob(db, {
        queueId: reports,
        payload: '{}',
        created: 2000,
        status: 'completed',
        history: [{ attempt: 1, status: 'success', at: 1990, code: 202 }],
      });
      await db.query(
        `insert into queue_stats (queue_id, bucket, success, durations, waits)
         values ($1, jobferry_bucket(jobferry_now() - interval '1990 s'), 1, array_fill(0, array[32]), array_fill(0, array[32]))`,
        [reports],
      );
      await db.query(
        `update job set claimed_at = claimed_at - interval '1900 s', deadline = deadline - interval '1900 s'
          where queue_id = $1 and status = 'awaiting_ack'`,
        [reports],
      );
      await insertWaiting(db, { queueId: reports, from: 30, to: 29, count: 1, payload: `'{}'` });
      const { rows } = await db.query('select max("timestamp") as at from attempt where queue_id = $1', [reports]);
      return (rows[0].at as Date).toISOString().slice(11, 19);
    });
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/');
    await settled(watched);
    await page.locator('.needs .what', { hasText: `1 of 1 slots wait for a report, none has come since` }).waitFor();
    await expect.poll(async () => textOf(await page.locator('.needs .what').innerText())).toContain(`${lastAt};`);
  });

  /** Four queues: one is held, one is paused, two have nothing to do. Of these, one has a receiver that refuses all. */
  async function showTroubles(account: Account): Promise<{ page: Page }> {
    const receiver = await openReceiver(({ path }) => ({ status: path.endsWith('failing') ? 500 : 202 }));
    await account.createQueue('failing', receiver, { maxAttempts: 1 });
    await account.createQueue('quiet', receiver);
    await account.createQueue('held', receiver, { mode: 'ACK' });
    const paused = await account.createQueue('paused', receiver);
    await account.operate.change('pauseQueue', paused);
    await account.operate.defer(await account.publishUntil('AWAITING_ACK', 'held'), 4800, 'tokens used up');
    const watched = await openPage(account.session);
    await watched.page.goto('/');
    await settled(watched);
    return watched;
  }
});

/** Names of the queues that need attention, and of all queues, in their order on the page. */
const problems = async (page: Page) => (await page.locator('.needs .rowlink').allInnerTexts()).map(textOf);
const rows = async (page: Page) => (await page.locator('tbody .rowlink').allInnerTexts()).map(textOf);
