import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { EXACT_PAYLOAD, HTML_ANSWER } from './payloads.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** Sending a job by hand: does my receiver work? */

describe.skipIf(NO_BROWSER !== null)('the page that sends a job', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('delivers the bytes of its box, and shows the answer as text', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver({ body: HTML_ANSWER, headers: { 'content-type': 'text/html' } });
    await account.createQueue('orders', receiver);
    const page = await showSend(account);
    await says(page, /^Send a job to orders, and see what the receiver answers\.$/);
    await box(page).fill(EXACT_PAYLOAD);
    await page.keyboard.press('Control+Enter');
    await says(page, /^The receiver answered 200 in .+\. The job is completed\.$/);
    expect(receiver.requests.map(({ raw }) => raw.toString())).toEqual([expect.stringContaining(EXACT_PAYLOAD)]);
    expect(await page.getByRole('region', { name: 'The receiver’s answer' }).textContent()).toBe(HTML_ANSWER);
    expect(await page.title()).not.toBe('run');

    // The last job can be sent again, and edited first.
    const [id = ''] = receiver.requests.map((request) => request.json().id);
    await page.goto(`/queues/orders/send?from=${id}`);
    await expect.poll(() => box(page).inputValue()).toBe(EXACT_PAYLOAD);
  });

  it('says where the text is no JSON object, and sends nothing', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    await account.createQueue('orders', receiver);
    const page = await showSend(account);
    const note = page.locator('#payload-note');
    await box(page).fill('{\n  "a": 1,\n  b: 2\n}');
    expect(await note.innerText()).toMatch(/^Line 3, column 3: /);
    await page.keyboard.press('Control+Enter');
    expect(await box(page).evaluate((field) => (field as HTMLTextAreaElement).selectionStart)).toBe(14);
    await box(page).fill('[1]');
    expect(await note.innerText()).toBe('A payload is an object: it begins with {.');
    await box(page).fill('{"a": 1}');
    expect(await note.innerText()).toBe('Sent byte for byte.');
    await page.keyboard.press('Control+Enter');
    await says(page, /^The receiver answered 200/);
    expect(receiver.requests.map((request) => request.json().payload)).toEqual([{ a: 1 }]);
  });

  it('says that a key was used before, and shows the job that has it', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    await account.createQueue('orders', receiver);
    const page = await showSend(account);
    await page.getByLabel('Idempotency key').fill('paid-42');
    await page.keyboard.press('Enter');
    await says(page, /^The receiver answered 200/);
    await page.keyboard.press('Control+Enter');
    await says(page, /^This key was used before\. The receiver answered 200/);
    await page.getByText('nothing was published. Here is the job that has it.').waitFor();
    expect(receiver.requests.length).toBe(1);
  });

  it('puts a refusal of the server at its field', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const page = await showSend(account);
    await page.getByLabel('Idempotency key').fill('k'.repeat(300));
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'Not sent: ' }).waitFor();
    expect(await page.getByLabel('Idempotency key').getAttribute('aria-invalid')).toBe('true');
  });

  it('reports for the worker in ack mode, and follows what comes of it', async () => {
    const account = await service.openAccount();
    await account.createQueue('images', await openReceiver({ status: 202 }), { mode: 'ACK', maxAttempts: 1 });
    const page = await showSend(account, 'images');
    await box(page).focus();
    await page.keyboard.press('Control+Enter');
    await says(page, /^The receiver answered 202 in .+\. The worker has .+ to report\.$/);
    await page.getByRole('button', { name: 'Report success' }).click();
    await says(page, /^Completed at .+: the worker reported success\.$/);
    await page.locator('h1:focus').waitFor();
    await page.getByRole('button', { name: 'Send again' }).click();
    await says(page, /^The receiver answered 202 in/);
    await page.getByRole('button', { name: 'Report failure…' }).click();
    await page.getByLabel('Reason, for the history').fill('no such picture');
    await page.getByLabel(/^Retry it after its back-off/).uncheck();
    await page.keyboard.press('Control+Enter');
    await says(page, /^Dead since .+: the worker refused it for good: “no such picture”\.$/);
    const before = page.getByRole('region', { name: 'Sent before, from this page' }).getByRole('row');
    expect((await before.allInnerTexts()).map(textOf)).toEqual([expect.stringMatching(/^Completed /)]);
  });

  it('keeps the focus and the payload while its queues are walked by arrow keys', async () => {
    const account = await service.openAccount();
    const receiver = await openReceiver();
    for (const name of ['audio', 'books', 'cards']) await account.createQueue(name, receiver);
    const page = await showSend(account, 'audio');
    await box(page).fill('{"a": 1}');
    const queues = page.getByLabel('Queue', { exact: true });
    const focused = () => page.evaluate(() => document.activeElement?.id);
    await queues.focus();
    for (const name of ['books', 'cards']) {
      await page.keyboard.press('ArrowDown');
      await page.waitForURL(`**/queues/${name}/send`);
      await says(page, new RegExp(`^Send a job to ${name},`));
      expect([await focused(), await queues.inputValue(), await box(page).inputValue()]).toEqual([
        ...['send-queue', name, '{"a": 1}'],
      ]);
    }
    // Text that is typed for one queue stays there.
    await box(page).fill('{"c": 3}');
    await queues.selectOption('audio');
    await says(page, /^Send a job to audio,/);
    expect(await box(page).inputValue()).toBe('{"a": 1}');
    await box(page).press('Control+Enter');
    await says(page, /^The receiver answered 200/);
    expect(receiver.requests.map((request) => request.json().payload)).toEqual([{ a: 1 }]);
    await queues.selectOption('books');
    await says(page, /^Send a job to books,/);
  });

  const box = (page: Page) => page.getByLabel('Payload', { exact: true });

  async function showSend(account: Account, name = 'orders'): Promise<Page> {
    const watched = await openPage(account.session);
    await watched.page.goto(`/queues/${name}/send`);
    await settled(watched);
    return watched.page;
  }
});
