import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Receiver } from '../support/receiver.ts';
import { createGate, openReceiver } from '../support/service.ts';
import { widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { NARROW, openPage, useBrowser, type View } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** Dead letters: what broke, how much of it, and is it safe to send them again? */

/** The receiver answers what the payload says. */
const of = (status: number, count: number) => Array.from({ length: count }, (_, n) => `{"status":${status},"n":${n}}`);

describe.skipIf(NO_BROWSER !== null)('the dead letters', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('stand by cause, and one cause leads to its letters', async () => {
    const { page } = await showDead([...of(500, 3), ...of(404, 2)]);
    await says(page, /^5 dead jobs have not been replayed\. One of 2 causes accounts for 60 ?%, most recently .+\.$/);
    const titles = await page.locator('ol.causes .rowlink').allInnerTexts();
    expect(titles.map(textOf)).toEqual(['Receiver answered 500', 'Receiver answered 404']);
    const tags = await page.locator('ol.causes .tag').allInnerTexts();
    expect(tags).toEqual(['orders', 'recent', 'orders', 'recent']);
    expect(await page.locator('ol.causes .said').allInnerTexts()).toEqual(['<b>no 500</b>', '<b>no 404</b>']);
    await page.keyboard.press('/');
    await page.keyboard.type('code:404');
    await page.keyboard.press('Enter');
    await says(page, /^2 dead letters match \(1 cause\)\./);
    expect(new URL(page.url()).searchParams.get('q')).toContain('code:404');
    await page.keyboard.press('Escape');
    await page.locator('h1').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForURL(/tab=all/);
    await page.locator('tbody tr').nth(1).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(2);
    // The name of the queue is misspelt, and the time is in words.
    await page.goto('/dead?q=queue:odrers died:>yesterday');
    await page.getByText('There is no queue odrers. Remove one:').waitFor();
    await page.getByRole('link', { name: 'Did you mean orders?' }).click();
    await says(page, /^5 dead letters match/);
  });

  it('are replayed when the canary has completed, as many as the button said', async () => {
    const { page, receiver } = await showDead(of(500, 4));
    const gate = createGate();
    receiver.respondWith(async () => {
      await gate.opened;
      return {};
    });
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    const question = page.getByRole('dialog', { name: 'Replay 4 jobs in orders?' });
    expect(await question.getByLabel(/^Send 1 first/).isChecked()).toBe(true);
    await question.getByLabel('50 per second').check();
    await question.getByRole('button', { name: 'Send 1, then 3' }).click();
    await page.waitForURL('**/actions/**');
    await says(page, /^The canary was sent\. The rest \(3 dead letters\) follows when it completes\.$/);
    await page.goBack();
    await page.locator('h1:focus').waitFor();
    // The end is told on any screen.
    await page.keyboard.press('g');
    await page.keyboard.press('q');
    await says(page, /^1 queue: /);
    gate.open();
    const toast = page.getByRole('status').filter({ hasText: 'Done: 4 dead letters were replayed.' });
    await toast.waitFor();
    await toast.getByRole('button', { name: 'Show' }).click();
    await says(page, /^Done: 4 dead letters were replayed\.$/);
    await page.getByText('The canary completed, so the rest started').waitFor();
    await receiver.waitFor(8);
    await page.goto('/dead');
    await says(page, /^All clear: every dead job has been replayed\. The last job died at .+\.$/);
  });

  it('are left alone when the canary dies, and the page says so', async () => {
    const { page, receiver } = await showDead(of(500, 4));
    await page.getByRole('button', { name: /^Replay…/ }).click();
    await page.getByText('If it dies, nothing more is sent.').waitFor();
    await page.getByRole('button', { name: 'Send 1, then 3' }).click();
    await page.waitForURL('**/actions/**');
    await says(page, /^Failed: the canary died \(HTTP 500\), so nothing more was sent\.$/);
    expect(receiver.requests.slice(4).length).toBe(1);
    // The facts may be a moment behind the first line.
    const facts = page.getByRole('region', { name: 'Facts' });
    await facts.filter({ hasText: /Canary\s*Dead/ }).waitFor();
    await page.goto('/dead');
    // Three that were not touched, and the one that died again.
    await says(page, /^4 dead jobs have not been replayed \(1 cause\)\./);
  });

  it('are counted again before the action: a number that has changed is asked about', async () => {
    const { page, account, receiver } = await showDead(of(500, 2));
    await page.getByRole('button', { name: /^Replay…/ }).click();
    await page.getByLabel(/^Send 1 first/).uncheck();
    const action = page.getByRole('button', { name: 'Send 2 again' });
    await action.waitFor();
    await account.letDie('orders', of(500, 1));
    receiver.respondWith({});
    await action.click();
    await page.getByText('The number has changed from 2 to 3. Check it before you send them.').waitFor();
    expect(receiver.requests.length).toBe(3);
    await page.getByRole('dialog', { name: 'Replay 3 jobs in orders?' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.waitForURL('**/actions/**');
    await says(page, /^Done: 3 dead letters were replayed\.$/);
  });

  it.each([
    ['/dead', 3],
    ['/dead?q=', 3],
    ['/dead?q=queue%3Aorders', 2],
    ['/dead?tab=answers', 3],
    ['/dead?tab=all', 4],
  ])('are replayed all at once at %s, where no condition but the default ones holds', async (path, jobs) => {
    const { account, receiver, page } = await showDead(of(500, 1));
    await account.createQueue('mail', receiver, { maxAttempts: 1 });
    await account.letDie('mail', of(500, 1));
    await account.letDie('orders', of(404, 1));
    await account.letDie('mail', of(409, 1));
    const groups = await account.graphql.query('{ errorGroups { fingerprint webhookStatusCode } }');
    const { fingerprint } = groups.errorGroups.find(
      ({ webhookStatusCode }: { webhookStatusCode: number }) => webhookStatusCode === 409,
    );
    await account.graphql.query(
      'mutation ($fingerprint: String!) { dismissErrorGroup(fingerprint: $fingerprint) { __typename } }',
      { fingerprint },
    );
    receiver.respondWith({});
    await page.goto(path);
    if (path === '/dead') await page.getByText('1 more is dismissed.').waitFor();
    await page.getByRole('button', { name: 'Replay all…' }).click();
    const question = page.getByRole('dialog', { name: new RegExp(`^Replay ${jobs} jobs`) });
    await question.getByLabel(/^Send 1 first/).uncheck();
    await question.getByRole('button', { name: `Send ${jobs} again` }).click();
    await page.waitForURL('**/actions/**');
    await says(page, new RegExp(`^Done: ${jobs} dead letters were replayed\\.$`));
  });

  it('keep the keys of the page while the question is still loaded', async () => {
    const { page } = await showDead(of(500, 2));
    const gate = createGate();
    await page.route(/\/bulk-[^/]+\.js$/, async (route) => {
      await gate.opened;
      await route.continue();
    });
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    // Would dismiss the cause.
    await page.keyboard.press('d');
    gate.open();
    await page.getByRole('dialog', { name: 'Replay 2 jobs in orders?' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await says(page, /^2 dead jobs have not been replayed/);
    expect(await page.getByText(/^Dismissed/).count()).toBe(0);
  });

  it('have tabs whose words are whole at 320 px', async () => {
    const { page, account, watched } = await showDead(of(500, 1), '/dead', NARROW);
    const { errorGroups } = await account.graphql.query('{ errorGroups { fingerprint } }');
    await account.graphql.query(
      'mutation ($fingerprint: String!) { dismissErrorGroup(fingerprint: $fingerprint) { __typename } }',
      errorGroups[0],
    );
    await page.reload();
    await settled(watched);
    const tab = page.getByRole('link', { name: 'Dismissed', exact: true });
    const lines = await tab.evaluate((link) => {
      const range = document.createRange();
      range.selectNodeContents(link);
      return range.getClientRects().length;
    });
    expect(lines).toBe(1);
    expect(await widerThanWindow(page)).toEqual([]);
  });

  it('are replayed one by one, and show the job that took over', async () => {
    const { page, receiver } = await showDead(of(500, 2), '/dead?tab=all');
    receiver.respondWith({});
    const rows = page.locator('tbody tr');
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await page.getByText(/^Replayed as the new job …/).waitFor();
    // The row stays where it was, so that a second press does not replay the next one.
    const successor = rows.first().getByRole('link', { name: /^as …/ });
    await successor.waitFor();
    await says(page, /^1 dead job has not been replayed \(1 cause\)\./);
    expect(await rows.count()).toBe(2);
    expect(await rows.nth(1).getByRole('button', { name: 'Replay', exact: true }).isVisible()).toBe(true);
    // The button goes; the focus stays in its row.
    await rows.nth(1).getByRole('button', { name: 'Replay', exact: true }).click();
    await rows.nth(1).getByRole('link', { name: /^as …/ }).waitFor();
    await rows.nth(1).locator('.rowlink:focus').waitFor();
    // The list stays as it is, although nothing waits any more.
    await says(page, /^All clear: every dead job has been replayed/);
    await successor.click();
    await says(page, /^Completed at .+: the receiver answered 200/);
  });

  it.each([
    ['/dead?q=queue%3Aorders', 'The queue of the filter', /^1 dead letter matches/],
    ['/jobs/attempts?queue=orders', 'The queue of the list', /^1 attempt/],
  ])('say at %s that their queue could not be looked up', async (path, what, sentence) => {
    const { page, watched } = await showDead(of(500, 1));
    watched.announce(/request failed|Failed to load/);
    const isLookUp = (body: string | null) => body?.includes('QueueOfName') === true;
    await page.route('**/graphql', (route) =>
      isLookUp(route.request().postData()) ? route.abort() : route.fallback(),
    );
    await page.goto(path);
    await page.getByText(`${what} could not be loaded. The server could not be reached.`).waitFor();
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Try now' }).click();
    await says(page, sentence);
  });

  async function showDead(payloads: string[], path = '/dead', view: View = {}) {
    const account: Account = await service.openAccount();
    const receiver: Receiver = await openReceiver((request) => {
      const { status } = request.json().payload as { status: number };
      return { status, body: `<b>no ${status}</b>` };
    });
    await account.createQueue('orders', receiver, { maxAttempts: 1 });
    await account.letDie('orders', payloads);
    const watched = await openPage(account.session, view);
    const { page }: { page: Page } = watched;
    await page.goto(path);
    await settled(watched);
    return { account, receiver, page, watched };
  }
});
