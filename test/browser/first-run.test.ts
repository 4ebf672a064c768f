import { type ChildProcess, spawn } from 'node:child_process';
import type { Page } from 'playwright-core';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { lastingPort } from '../support/lasting-port.ts';
import { startReceiver } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';
import { axeViolations, placesOf, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, PHONE, useBrowser, type View } from './page.ts';
import { settled } from './screens.ts';
import { says } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** The first run: from an account without a queue to a delivered job in three steps, on one page. */

describe.skipIf(NO_BROWSER !== null)('the first run', () => {
  let service: SmallService;
  let terminal: ChildProcess | null = null;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });
  afterEach(() => {
    if (terminal?.pid !== undefined) process.kill(-terminal.pid, 'SIGKILL');
    terminal = null;
  });

  it('leads to a delivered job without leaving the page, by the commands that it shows', async () => {
    const port = await lastingPort();
    const { page } = await showFirstRun();
    await says(page, /^No queues yet\. Create one, send it a job and watch it arrive\.$/);
    // An account without jobs has no tiles that are all zero.
    expect(await page.getByText('All queues').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('greetings');
    await page.getByLabel('Deliver to').fill(`http://127.0.0.1:${port}/`);
    await page.keyboard.press('Enter');
    await says(page, /^greetings is ready and waiting for its first job\.$/);

    const [secretCommand = '', receiverCommand = ''] = await page.locator('.steps .term pre').allInnerTexts();
    const settings = page.getByRole('link', { name: 'Create an API key' });
    expect(await settings.getAttribute('href')).toMatch(/\/settings$/);
    const secret = /'(.+)'/.exec(secretCommand)?.[1] ?? '';
    expect(secret.length).toBeGreaterThan(20);
    const output = runInTerminal(`${secretCommand}\n${receiverCommand}\n`);
    await waitFor(() => output.text.includes('waiting for jobs'), { message: 'the receiver of the page' });
    await page.getByRole('button', { name: 'Or send it from here' }).click();
    await says(page, /^It works: the first job in greetings arrived\.$/);
    await page.locator('h1:focus').waitFor();
    await waitFor(() => output.text.includes('"payload":{"hello":"world"}'), { message: 'a genuine delivery' });
    await page.getByText(/^Completed at .+: the receiver answered 200 in .+\.$/).waitFor();
    expect(new URL(page.url()).pathname).toBe('/');

    for (const leave of [page.getByRole('link', { name: 'Queues' }).first(), page.getByText('To Overview')]) {
      await leave.click();
      await page.getByRole('dialog', { name: 'Have you copied the signing secret?' }).waitFor();
      await page.keyboard.press('Escape');
    }
    await page.getByRole('button', { name: 'Hide it' }).click();
    expect(await placesOf(page, secret)).toEqual([]);
    await page.getByRole('button', { name: 'To Overview' }).click();
    await says(page, /^(The queue is healthy|All is quiet)\b/);
    expect(await placesOf(page, secret)).toEqual([]);
  });

  it('says at its field why a queue cannot be created, and that its deliveries will be refused', async () => {
    const { page } = await showFirstRun();
    await page.getByLabel('Name', { exact: true }).fill('Not A Name');
    await page.keyboard.press('Enter');
    const field = page.getByLabel('Name', { exact: true });
    await expect.poll(() => field.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => field.evaluate((input) => input === document.activeElement)).toBe(true);
    await says(page, /^No queues yet\./);
    const address = page.getByLabel('Deliver to');
    const note = page.locator(`#${await address.getAttribute('aria-describedby')}`);
    await address.fill('http://10.0.0.7/hook');
    await expect
      .poll(() => note.innerText())
      .toMatch(/^10\.0\.0\.7 is not a public address, .+ WEBHOOK_ALLOW_CIDRS\.$/);
    expect(await axeViolations(page)).toEqual([]);
    await address.fill('http://127.0.0.1:9000/');
    await expect.poll(() => note.innerText()).toMatch(/^Your receiver’s address\./);
  });

  it('keeps the mode that was chosen when the settings come from elsewhere', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const { page } = await openPage(account.session);
    await page.goto('/queues?new=1');
    const from = page.getByLabel('Settings from');
    const chosen = () => page.getByRole('radio', { checked: true }).getAttribute('value');
    await from.selectOption('copy');
    expect(await chosen()).toBe('');
    // Without a choice it goes with the settings.
    await from.selectOption('defaults');
    expect(await chosen()).toBe('STANDARD');
    await page.getByLabel('the job is done').click();
    await from.selectOption('copy');
    expect(await chosen()).toBe('STANDARD');
    await page.getByLabel('as in the other queue').click();
    expect(await chosen()).toBe('');
    // The typed texts are still there after a look at another page.
    const name = page.getByLabel('Name', { exact: true });
    await name.fill('mails');
    await page.getByLabel('received; a worker reports later (ack)').click();
    await page.getByRole('link', { name: 'Alerts' }).first().click();
    await page.waitForURL('**/alerts');
    await page.goBack();
    await name.waitFor();
    expect([await name.inputValue(), await from.inputValue(), await chosen()]).toEqual(['mails', 'copy', 'ACK']);
  });

  it('says why the first job is not completed, on a phone', async () => {
    const receiver = await startReceiver({ respond: { status: 500 } });
    const { page, account } = await showFirstRun(PHONE);
    expect(await widerThanWindow(page)).toEqual([]);
    await page.getByLabel('Deliver to').fill(receiver.url);
    await page.getByRole('button', { name: 'Create queue' }).tap();
    await says(page, /^hello is ready and waiting for its first job\.$/);
    expect(await widerThanWindow(page)).toEqual([]);
    // It waits for its second attempt until the page was read.
    const { queue } = await account.graphql.query('{ queue(name: "hello") { id } }');
    await account.operate.updateQueue(queue.id, { backoffDelay: 3600 });
    await page.getByRole('button', { name: 'Or send it from here' }).tap();
    await says(page, /^The first job in hello is on its way\.$/);
    await page.getByText(/^Retries in .+ because the receiver answered 500\.$/).waitFor();
    await receiver.close();
  });

  async function showFirstRun(view: View = {}): Promise<{ page: Page; account: Account }> {
    const account = await service.openAccount();
    const watched = await openPage(account.session, view);
    await watched.page.goto('/');
    await settled(watched);
    return { page: watched.page, account };
  }

  /** Runs a script as pasted into a shell. */
  function runInTerminal(script: string): { text: string } {
    const output = { text: '' };
    terminal = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    terminal.stdout?.on('data', (data: Buffer) => {
      output.text += data.toString();
    });
    return output;
  }
});
