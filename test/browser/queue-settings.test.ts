import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifySignature } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { axeViolations, placesOf } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** The settings of a queue: what changes and when, before it is saved; and what cannot be undone. */

const SETTINGS = 'query ($name: String!) { queue(name: $name) { concurrency maxAttempts backoffDelay webhookUrl } }';

describe.skipIf(NO_BROWSER !== null)('the settings of a queue', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('show what changes and when before they save it, and save nothing else', async () => {
    const account = await service.openAccount();
    const id = await account.createQueue('orders', await openReceiver(), { concurrency: 5, maxAttempts: 3 });
    const page = await showSettings(account);
    await says(page, /^Change a setting to see when it takes effect\.$/);
    await page.getByLabel('Concurrency', { exact: true }).fill('9');
    await says(page, /^1 setting changes immediately\.$/);
    await page.getByLabel('Attempts', { exact: true }).fill('4');
    await says(page, /^2 settings change: 1 immediately, 1 for jobs published from now on\.$/);
    const changes = page.getByRole('region', { name: 'Changes' }).getByRole('listitem');
    expect((await changes.allInnerTexts()).map(textOf)).toEqual([
      expect.stringMatching(/^Concurrency 5 .*9 immediately$/),
      expect.stringMatching(/^Attempts 3 .*4 for jobs published from now on$/),
    ]);
    // The comparison of jobs draws signs before what changed.
    const signs = await changes
      .locator('del, ins')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one, '::before').content));
    expect(signs).toEqual(Array(4).fill('none'));
    // Another person changes other fields meanwhile, also one that the stream does not tell.
    await account.operate.updateQueue(id, { concurrency: 7, backoffDelay: 77 });
    await expect.poll(async () => textOf(await changes.first().innerText())).toMatch(/^Concurrency 7 .*9 immediately$/);
    await expect.poll(() => page.getByLabel('First back-off, in seconds').inputValue()).toBe('77');
    expect((await settingsOf(account)).concurrency).toBe(7);
    await page.keyboard.press('Control+Enter');
    await page.getByText('2 settings of orders changed').waitFor();
    expect(await settingsOf(account)).toMatchObject({ concurrency: 9, maxAttempts: 4, backoffDelay: 77 });
    await says(page, /^Change a setting to see when it takes effect\.$/);
  });

  it('put what is wrong at its field: what the page knows, and what only the server knows', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const before = await settingsOf(account);
    const page = await showSettings(account);
    const [url, slots] = [page.getByLabel('URL'), page.getByLabel('Concurrency', { exact: true })];
    const noteOf = async (field: typeof url) =>
      textOf(await page.locator(`#${await field.getAttribute('aria-describedby')}`).innerText());
    await slots.fill('0');
    await says(page, /^1 setting is invalid\.$/);
    expect(await noteOf(slots)).toBe('A whole number from 1 to 500.');
    await page.getByLabel('Attempts', { exact: true }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => slots.evaluate((field) => field === document.activeElement)).toBe(true);
    await slots.fill(String(before.concurrency));

    await url.fill('http://[fe80::1]/hooks');
    await expect.poll(() => noteOf(url)).toMatch(/^fe80::1 is not a public address, .+ WEBHOOK_ALLOW_CIDRS\.$/);
    await url.fill('https://user:secret@example.com/hooks');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'Not saved: ' }).waitFor();
    expect(await url.getAttribute('aria-invalid')).toBe('true');
    expect(await noteOf(url)).toMatch(/must not contain a user name or password/);
    await expect.poll(() => url.evaluate((field) => field === document.activeElement)).toBe(true);
    expect(await settingsOf(account)).toEqual(before);
    await page.getByRole('button', { name: 'Undo all' }).click();
    expect(await url.inputValue()).toBe(before.webhookUrl);
  });

  it('ask before they are left with changes, and keep them for those who stay', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const page = await showSettings(account);
    await page.getByLabel('Concurrency', { exact: true }).fill('9');
    await page.getByRole('link', { name: 'orders', exact: true }).click();
    const question = page.getByRole('dialog', { name: 'Leave without saving 1 change?' });
    await question.waitFor();
    // The least harmful answer has the focus.
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    expect(await page.getByLabel('Concurrency', { exact: true }).inputValue()).toBe('9');
    await page.locator('h1').focus();
    await page.keyboard.press('g');
    await page.keyboard.press('j');
    await question.getByRole('button', { name: 'Leave' }).click();
    await page.waitForURL('**/jobs');
    expect((await settingsOf(account)).concurrency).not.toBe(9);
  });

  it('show a new secret once, and it signs', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    await account.createQueue('orders', receiver);
    // The link of the queue's menu.
    const page = await showSettings(account, '#secret');
    const question = page.getByRole('dialog', { name: 'Rotate the signing secret of orders?' });
    await question.getByLabel(/^None/).check();
    await question.getByRole('button', { name: 'Rotate', exact: true }).click();
    const fresh = page.getByRole('region', { name: /^The new secret is ready/ });
    const secret = textOf(await fresh.locator('.term').innerText());
    await fresh.locator('h2:focus').waitFor();
    await account.publishUntil('COMPLETED', 'orders');
    const [request] = receiver.requests;
    expect(verifySignature(request?.raw ?? Buffer.of(), request?.headers['x-service-signature'], secret)).toBe(true);
    expect(await placesOf(page, secret)).toEqual(['document']);
    // A person who stays with either question has lost neither the changes nor the secret.
    const slots = page.getByLabel('Concurrency', { exact: true });
    await slots.fill('9');
    const ofSecret = page.getByRole('dialog', { name: 'Have you copied the new secret of orders?' });
    const ofChanges = page.getByRole('dialog', { name: 'Leave without saving 1 change?' });
    for (const agreed of [[], [ofSecret]]) {
      await page.getByRole('link', { name: 'orders', exact: true }).click();
      for (const question of agreed) await question.getByRole('button', { name: 'Leave' }).click();
      const last = agreed.length === 0 ? ofSecret : ofChanges;
      await last.waitFor();
      await page.keyboard.press('Enter');
      await last.waitFor({ state: 'detached' });
      expect(await slots.inputValue()).toBe('9');
    }
    expect(textOf(await fresh.locator('.term').innerText())).toBe(secret);
    await fresh.getByRole('button', { name: 'I have copied it: close' }).click();
    await fresh.waitFor({ state: 'detached' });
    expect(await placesOf(page, secret)).toEqual([]);
    await page.reload();
    await says(page, /^Change a setting/);
    expect(await placesOf(page, secret)).toEqual([]);
  });

  it('switch Standard Webhooks headers on and off, for the deliveries that follow', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    await account.createQueue('orders', receiver);
    const page = await showSettings(account);
    for (const [button, title, hasHeaders] of [
      ['Switch on', 'Standard Webhooks headers are on', true],
      ['Switch off', 'Standard Webhooks headers are off', false],
    ] as const) {
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('heading', { name: title }).waitFor();
      const before = receiver.requests.length;
      await account.publishUntil('COMPLETED', 'orders');
      expect('webhook-signature' in (receiver.requests[before]?.headers ?? {})).toBe(hasHeaders);
    }
  });

  it('mark a queue as production, and its page shows the tunnels that take its deliveries', async () => {
    const account = await service.openAccount();
    const id = await account.createQueue('orders', await openReceiver());
    const page = await showSettings(account);
    await page.getByRole('button', { name: 'Mark', exact: true }).click();
    await page.getByRole('heading', { name: 'Marked as production', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Remove the mark' }).click();
    await page.getByRole('heading', { name: 'Not marked as production' }).waitFor();
    const tunnel = account.graphql.subscribe('subscription ($id: ID!) { tunnel(queueId: $id) { tunnelId } }', { id });
    await tunnel.next();
    await page.goto('/queues/orders');
    await page.getByText('Deliveries go to a client that listens, and not to the webhook').waitFor();
    tunnel.close();
  });

  it('purge a queue once its name is typed, and lead to the action', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    await account.operate.publish('orders', ['{}', '{}', '{}'], 3600);
    const page = await showSettings(account);
    await page.getByRole('button', { name: 'Purge…' }).click();
    const question = page.getByRole('dialog', { name: 'Cancel 3 waiting jobs in orders?' });
    await typeName(page, question, 'orders');
    await page.waitForURL('**/actions/**');
    await says(page, /^Done: 3 jobs were cancelled\.$/);
  });

  it('ask at once when they are come to from the queue, and ask again when the number has changed', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    await account.operate.publish('orders', ['{}', '{}', '{}'], 3600);
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/queues/orders');
    await settled(watched);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('link', { name: 'Purge…' }).click();
    await page.getByRole('dialog', { name: 'Cancel 3 waiting jobs in orders?' }).waitFor();
    await account.operate.publish('orders', ['{}'], 3600);
    await page.keyboard.type('orders');
    await page.keyboard.press('Control+Enter');
    await page.getByText('The number has changed').waitFor();
    const question = page.getByRole('dialog', { name: 'Cancel 4 waiting jobs in orders?' });
    expect(await axeViolations(page)).toEqual([]);
    await question.getByRole('button', { name: 'Purge 4 jobs in orders' }).click();
    await page.waitForURL('**/actions/**');
    await says(page, /^Done: 4 jobs were cancelled\.$/);
  });

  it('cannot purge a queue in which nothing waits', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const page = await showSettings(account);
    await page.getByRole('button', { name: 'Purge…' }).click();
    const question = page.getByRole('dialog', { name: 'No job is waiting in orders' });
    await question.waitFor();
    await page.keyboard.type('orders');
    await page.keyboard.press('Control+Enter');
    expect(await question.isVisible()).toBe(true);
  });

  it('set a breaker, whose opening the page of the queue explains, and remove it', async () => {
    const account = await service.openAccount();
    const id = await account.createQueue('orders', await openReceiver(() => ({ status: 500 })), { concurrency: 3 });
    const page = await showSettings(account, '#breaker');
    const dialog = page.getByRole('dialog', { name: 'When does the breaker open?' });
    await dialog.getByLabel('Failed answers in a row').fill('1');
    await page.keyboard.press('Control+Enter');
    await dialog.getByText('must be a whole number from 2 to 1000').waitFor();
    expect(await axeViolations(page)).toEqual([]);
    await dialog.getByLabel('Failed answers in a row').fill('3');
    await page.keyboard.press('Control+Enter');
    await page.getByText('It opens after 3 failed answers in a row.').waitFor();
    // The row, or the heading if that had the focus before the dialog opened.
    await page.locator('#breaker:focus, h1:focus').waitFor();
    // The link has done what it promises.
    expect(new URL(page.url()).hash).toBe('');
    await page.reload();
    await page.getByRole('button', { name: 'Change', exact: true }).waitFor();
    expect(await dialog.count()).toBe(0);

    await account.operate.publish('orders', Array(5).fill('{}'));
    await page.goto('/queues/orders');
    await says(
      page,
      /^The receiver is down\. Its breaker has been open since \S+: \d answers in a row failed, the last was “HTTP 500”\. /,
    );
    // Its first probe is 10 s after it opened.
    await page.getByRole('button', { name: 'Probe now' }).click();
    await page.getByText('The next probe of orders is due').waitFor();
    const ofBreaker = '{ queue(name: "orders") { breaker { openedAt failedProbes } } }';
    const isOpenAfterProbe = { openedAt: expect.any(String), failedProbes: expect.toSatisfy((probes) => probes > 0) };
    await expect.poll(async () => (await account.graphql.query(ofBreaker)).queue.breaker).toEqual(isOpenAfterProbe);
    await account.operate.change('pauseQueue', id);
    await page.getByText(/^The breaker has been open since .+ No job probes it until the queue is resumed\./).waitFor();
    await page.getByRole('button', { name: 'Probe now' }).waitFor({ state: 'detached' });
    await account.operate.change('resumeQueue', id);
    await page.goto('/queues/orders/edit#breaker');
    await dialog.getByLabel('Failed answers in a row').fill('');
    await dialog.getByRole('button', { name: 'Remove the breaker' }).click();
    await page.getByText('No breaker', { exact: true }).waitFor();
    await page.goto('/queues/orders');
    await says(page, /^(?!The receiver is down)/);
  });

  it('delete a queue once its name is typed', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const page = await showSettings(account);
    await page.getByRole('button', { name: 'Delete…' }).click();
    await typeName(page, page.getByRole('dialog', { name: 'Delete the queue orders?' }), 'orders');
    await page.getByText('orders is deleted').waitFor();
    await page.waitForURL('**/queues');
    expect((await account.graphql.query(SETTINGS, { name: 'orders' })).queue).toBeNull();

    // The form of another tab finds it out, at the latest when it is saved.
    const id = await account.createQueue('orders', await openReceiver());
    const other = await showSettings(account);
    await other.getByLabel('Concurrency', { exact: true }).fill('9');
    await account.graphql.query('mutation ($id: ID!) { deleteQueue(id: $id) { __typename } }', { id });
    await other.keyboard.press('Control+Enter');
    await says(other, /^Deleted at \S+\. Its jobs are kept until /);
  });

  /** Types half of the name, which does nothing, and then all of it. The field for it has the focus. */
  async function typeName(page: Page, question: ReturnType<Page['getByRole']>, name: string): Promise<void> {
    await question.waitFor();
    await page.keyboard.type(name.slice(0, 3));
    await page.keyboard.press('Control+Enter');
    expect(await question.isVisible()).toBe(true);
    await page.keyboard.type(name.slice(3));
    await page.keyboard.press('Control+Enter');
    await question.waitFor({ state: 'detached' });
  }

  async function settingsOf({ graphql }: Account) {
    return (await graphql.query(SETTINGS, { name: 'orders' })).queue;
  }

  async function showSettings(account: Account, part = ''): Promise<Page> {
    const watched = await openPage(account.session);
    await watched.page.goto(`/queues/orders/edit${part}`);
    await settled(watched);
    return watched.page;
  }
});
