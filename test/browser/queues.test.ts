import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Receiver } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** The list of queues: found by name, and in pages where there are more than a hundred, and changed together. */

describe.skipIf(NO_BROWSER !== null)('the list of queues', () => {
  let service: SmallService;
  let receiver: Receiver;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
    receiver = await openReceiver();
  });

  it('finds a queue by its name, in an address that can be passed on', async () => {
    const account = await service.openAccount();
    await createQueues(account, ['order-events', 'order-mails', 'images']);
    const page = await showQueues(account, '/queues');
    await says(page, /^3 queues: 3 are idle\.$/);
    await page.keyboard.press('/');
    // Each key comes a moment after the text before it was put into the address.
    await page.keyboard.type('order', { delay: 155 });
    await page.waitForURL('**/queues?q=order');
    await says(page, /^2 queues match: 2 are idle\.$/);
    const passedOn = await showQueues(account, '/queues?q=order');
    expect(await names(passedOn)).toEqual(['order-events', 'order-mails']);
    await page.keyboard.press('Escape');
    await says(page, /^3 queues: /);
    await page.keyboard.type('no such');
    await page.getByText('No queue matches “no such”').waitFor();
    await page.getByRole('combobox', { name: /^Search queues/ }).fill('oredr-mails');
    await page.getByRole('link', { name: 'Did you mean order-mails?' }).waitFor();
  });

  it('has pages, and the overview says of which queues it speaks', async () => {
    const account = await service.openAccount();
    await createQueues(
      account,
      Array.from({ length: 103 }, (_, n) => `queue-${String(n).padStart(3, '0')}`),
    );
    const page = await showQueues(account, '/queues');
    await says(page, /^103 queues\. Of the 90 on this page 90 are idle\.$/);
    expect((await names(page)).length).toBe(90);
    await page.getByRole('link', { name: 'Next page' }).click();
    await page.waitForURL(/[?&]after=/);
    await says(page, /^103 queues\. Of the 13 on this page 13 are idle\.$/);
    expect((await names(page)).slice(-2)).toEqual(['queue-101', 'queue-102']);
    await page.getByRole('link', { name: 'First page' }).click();
    await says(page, /^103 queues\. Of the 90/);
    const overview = await showQueues(account, '/');
    await overview.getByText('The worst 90 of 103 queues.').waitFor();
  });

  it('pauses selected queues, and undoes it; then all of a receiver', async () => {
    const account = await service.openAccount();
    await createQueues(account, ['one', 'three', 'two']);
    const page = await showQueues(account, '/queues');
    await page.getByLabel('Select one').check();
    await page.getByLabel('Select two').check();
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('button', { name: 'Pause 2 queues' }).click();
    await page.getByText('2 queues paused').waitFor();
    await says(page, /^3 queues: 2 need attention and 1 is idle\.$/);
    await page.keyboard.press('z');
    await page.getByText('2 queues resumed').waitFor();
    await says(page, /^3 queues: 3 are idle\.$/);

    await page.getByRole('link', { name: 'Receivers' }).click();
    await says(page, /^None of 1 receiver has failing queues\.$/);
    await page.locator('tbody .rowlink').click();
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('button', { name: 'Pause 3 queues' }).click();
    await says(page, /^All 3 queues that deliver to 127\.0\.0\.1:\d+ are paused\.$/);

    // The palette opens the question, on this page and from another one.
    for (const from of ['', 's']) {
      if (from !== '') {
        await page.keyboard.press('g');
        await page.keyboard.press(from);
        await page.waitForURL('**/system');
      }
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox').fill('>resume 127.0.0.1');
      await page.getByRole('option', { name: /^Resume the queues of 127\.0\.0\.1/ }).waitFor();
      await page.keyboard.press('Enter');
      const question = page.getByRole('dialog', { name: 'Resume 3 queues?' });
      await question.waitFor();
      expect(new URL(page.url()).hash).toBe('');
      await page.keyboard.press('Escape');
      await question.waitFor({ state: 'detached' });
    }

    // They have one thing in common, so Overview says it once.
    await page.keyboard.press('g');
    await page.keyboard.press('o');
    await says(page, /^All 3 queues need attention\.$/);
    expect(textOf(await page.locator('.needs li').innerText())).toMatch(
      /Paused: 3 queues\. one, three and two, since [\d:]+ by jf_.+\. 0 jobs wait\./,
    );
    await page.keyboard.press('1');
    await page.waitForURL('**/receivers/127.0.0.1:*');
    await page.goBack();
    // The action of one paused queue is that of several, too.
    await page
      .locator('.needs')
      .getByRole('button', { name: /^Resume… of 127\.0\.0\.1:/ })
      .click();
    const question = page.getByRole('dialog', { name: 'Resume 3 queues?' });
    await question.getByText('one, three and two').waitFor();
    await question.getByRole('button', { name: 'Resume 3 queues' }).click();
    await page.getByText('3 queues resumed').waitFor();
    await page.locator('.needs').waitFor({ state: 'detached' });
  });

  it('says that a pause without an answer may be done, and counts again', async () => {
    const account = await service.openAccount();
    await createQueues(account, ['one', 'two']);
    const watched = await openPage(account.session);
    const { page } = watched;
    watched.announce(/request failed|Failed to load/);
    await page.goto('/queues');
    await settled(watched);
    let answer = () => {};
    await page.route('**/graphql', async (route) => {
      const { query, variables } = route.request().postDataJSON() as { query: string; variables: { dryRun?: boolean } };
      if (!query.includes('mutation PauseQueues') || variables.dryRun !== false) return route.continue();
      await route.fetch();
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.abort();
    });
    await page.getByLabel('Select one').check();
    await page.getByLabel('Select two').check();
    await page.getByRole('button', { name: 'Pause…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Pause 2 queues' }).click();
    // The action is not cancelled by a key.
    await dialog.getByRole('button', { name: 'Close' }).waitFor();
    for (let press = 0; press < 2; press += 1) await page.keyboard.press('Escape');
    await says(page, /^2 queues: 2 need attention/);
    expect(await dialog.isVisible()).toBe(true);
    answer();
    await dialog.getByText('No answer came. The change may have been applied.').waitFor();
    await expect.poll(async () => textOf(await dialog.locator('.price').innerText())).toMatch(/already paused 2/);
  });

  it('selects the rows that are seen by keys, and names them before the action', async () => {
    const account = await service.openAccount();
    await createQueues(account, ['order-events', 'order-mails', 'images']);
    const page = await showQueues(account, '/queues');
    const bar = page.locator('.bulk');
    for (const key of ['j', 'x', 'j', 'j', 'X']) await page.keyboard.press(key);
    await bar.getByText('3 selected.').waitFor();
    await page.keyboard.press('Escape');
    await bar.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog').getByText('Select the queue').waitFor();
    await page.keyboard.press('Escape');

    await page.getByLabel('Select order-events').check();
    await page.getByLabel('Select order-mails').check();
    await page.getByRole('button', { name: 'Pause…' }).click();
    await page.getByRole('dialog').getByText('order-events and order-mails').waitFor();
    await page.keyboard.press('Escape');
    await page.getByLabel(/^Search queues/).fill('images');
    await says(page, /^1 queue matches: /);
    await bar.waitFor({ state: 'detached' });
  });

  it('asks about the receiver of the palette, also on the page of another one', async () => {
    const account = await service.openAccount();
    await account.createQueue('here', { url: 'http://127.0.0.1:9/' });
    await account.createQueue('there', { url: 'http://localhost:9/' });
    const page = await showQueues(account, '/receivers/127.0.0.1:9');
    await says(page, /^No attempt to 127\.0\.0\.1:9 ended in the last hour\.$/);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('>pause localhost');
    await page.getByRole('option', { name: /^Pause the queues of localhost/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause 1 queue' }).click();
    await says(page, /^The queue that delivers to localhost:9 is paused\.$/);
  });

  it('sums up the dead letters and the attempts of a receiver, and leads to their replay', async () => {
    const account = await service.openAccount();
    const broken = await openReceiver({ status: 502 });
    for (const name of ['orders', 'mails']) {
      await account.createQueue(name, broken, { maxAttempts: 1 });
      await account.letDie(name, ['{"n":1}', '{"n":2}']);
    }
    const { host } = new URL(broken.url);
    const page = await showQueues(account, `/receivers/${host}`);
    const fact = page.locator('.facts > div').filter({ hasText: 'Dead letters' });
    await expect.poll(async () => textOf(await fact.innerText())).toBe('Dead letters 4 See and replay them');
    await page
      .locator('.receiver-attempts')
      .getByRole('img', { name: /^4 attempts in 3 h, 4 failed\./ })
      .waitFor();
    await fact.getByRole('link').click();
    await says(page, /^4 dead letters match\. One of 2 causes accounts for 50.%/);
    expect(new URL(page.url()).searchParams.get('q')).toBe(`receiver:${host}`);
    await page.getByRole('button', { name: 'Replay all…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send 1, then 3' }).waitFor();
  });

  it('says what a limit may be, in place of a dead button', async () => {
    const account = await service.openAccount();
    await createQueues(account, ['one']);
    const page = await showQueues(account, '/queues');
    await page.getByLabel('Select one').check();
    await page.getByRole('button', { name: 'Limit…' }).click();
    const field = page.getByLabel('Concurrency');
    for (const wrong of ['-1', '0']) {
      await field.fill(wrong);
      await page.getByText('Concurrency must be a whole number from 1 to 500.').waitFor();
    }
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    await field.fill('5');
    await page.getByRole('button', { name: 'Limit 1 queue' }).click();
    await page.getByText('1 queue limited').waitFor();
  });

  async function createQueues(account: Account, all: readonly string[]): Promise<void> {
    // In turn, as pages are in the order of creation.
    for (const name of all) await account.createQueue(name, receiver, { concurrency: 1 });
  }

  async function showQueues(account: Account, path: string): Promise<Page> {
    const watched = await openPage(account.session);
    await watched.page.goto(path);
    await settled(watched);
    return watched.page;
  }
});

const names = async (page: Page) => (await page.locator('tbody .rowlink').allInnerTexts()).map(textOf);
