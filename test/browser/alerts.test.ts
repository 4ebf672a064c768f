import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { startJobferry } from '../support/process.ts';
import type { Receiver } from '../support/receiver.ts';
import { openReceiver } from '../support/service.ts';
import { axeViolations, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { NARROW, openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, accountOf } from './small-service.ts';

/** Alerts: what fires now, and how is a rule made, tried, changed, silenced and deleted? No worker runs here. */

const KEY = 'key-of-the-bootstrap-account';

describe.skipIf(NO_BROWSER !== null)('the alerts', () => {
  let account: Account;
  let receiver: Receiver;
  useBrowser();
  beforeAll(async () => {
    const { url: databaseUrl } = await createTestDatabase();
    const env = { BOOTSTRAP_API_KEY: KEY, ALERT_INTERVAL_SECONDS: '0.2' };
    const { baseUrl } = await startJobferry({ databaseUrl, role: 'api', env });
    account = await accountOf(KEY, baseUrl);
    receiver = await openReceiver();
    await account.createQueue('orders', receiver);
  });

  it('are set up, tried, changed, silenced and deleted', async () => {
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/alerts');
    await settled(watched);
    await says(page, /^No alert rules yet\.$/);

    await page.keyboard.press('n');
    await page.getByLabel('in', { exact: true }).fill('order');
    await page.locator('datalist option[value="orders"]').waitFor({ state: 'attached' });
    await page.getByLabel('in', { exact: true }).fill('ordres');
    await page.getByRole('status').getByText('There is no queue ordres. Did you mean orders?').waitFor();
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('alert').getByText('No queue has this name').waitFor();
    // A number alone could be of seconds or of minutes.
    await page.getByLabel('longer than').fill('300');
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('alert').getByText('Write a time with its unit').waitFor();
    await page.getByLabel('in', { exact: true }).fill('orders');
    await page.getByLabel('longer than').fill('0');
    await page.getByLabel('for at least').fill('61 min');
    await page.getByLabel('Webhook', { exact: true }).fill(`${receiver.url}/alerts`);
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('alert').getByText('must be between 1 and 86400 seconds').waitFor();
    await page.getByLabel('longer than').fill('2 min');
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('alert').getByText('must be between 0 and 3600 seconds').waitFor();
    await page.getByLabel('for at least').fill('90 s');
    expect(await axeViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByText(/^whsec_[0-9a-f]{64}$/).waitFor();
    await page.getByRole('button', { name: 'I have copied it: close' }).click();
    await says(page, /^No alert is firing\.$/);
    let row = page.getByRole('row', { name: /A due job in orders waits longer than 2.min\./ });
    await row.getByText('nothing sent yet').waitFor();

    await row.getByRole('button', { name: /^Test/ }).click();
    const [test] = await receiver.waitFor(1);
    expect(test?.json()).toMatchObject({ type: 'test', rule: { kind: 'oldest_due', queue: 'orders' } });

    expect(await settings()).toEqual([{ kind: 'OLDEST_DUE', forSeconds: 90, windowSeconds: null }]);
    await row.getByRole('button', { name: /^Edit/ }).click();
    expect(textOf(await page.getByLabel('for at least').inputValue())).toBe('1 min 30 s');
    // Due jobs are not counted in a window.
    expect(await page.getByLabel('Within').count()).toBe(0);
    await page.getByLabel('longer than').fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('must be between 1 and 86400 seconds').waitFor();
    await page.getByLabel('longer than').fill('3 min');
    await page.getByLabel(/Create a new signing secret/).check();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The secret is replaced.').waitFor();
    await page.getByText(/^whsec_[0-9a-f]{64}$/).waitFor();
    await page.getByRole('button', { name: 'I have copied it: close' }).click();
    row = page.getByRole('row', { name: /A due job in orders waits longer than 3.min\./ });

    await row.getByRole('button', { name: /^Silence/ }).click();
    await page.getByLabel('8 hours').check();
    await page.getByRole('button', { name: 'Silence', exact: true }).click();
    await row.getByText(/^silenced until/).waitFor();
    await row.getByRole('button', { name: /^End silence/ }).click();
    await row.getByText(/^silenced until/).waitFor({ state: 'detached' });

    await row.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await says(page, /^No alert rules yet\.$/);
  });

  const settings = async () =>
    (await account.graphql.query('{ alertRules { kind forSeconds windowSeconds } }')).alertRules;

  it('count in a window that one chooses, and changes', async () => {
    const watched = await openPage(account.session);
    const { page } = watched;
    await page.goto('/alerts');
    await settled(watched);
    await page.keyboard.press('n');
    await page.getByLabel('Alert when').selectOption({ label: 'jobs die' });
    await page.getByLabel('Within').selectOption('1800');
    await page.getByLabel('for at least').fill('0');
    await page.getByLabel('Webhook', { exact: true }).fill(`${receiver.url}/window`);
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('button', { name: 'I have copied it: close' }).click();
    const row = page.getByRole('row', { name: /At least 1.job in any queue dies within 30.min\./ });
    await row.waitFor();
    expect(await settings()).toEqual([{ kind: 'DEAD_LETTERS', forSeconds: 0, windowSeconds: 1800 }]);
    await row.getByRole('button', { name: /^Edit/ }).click();
    expect(await page.getByLabel('Within').inputValue()).toBe('1800');
    await page.getByLabel('Within').selectOption('300');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /At least 1.job in any queue dies within 5.min\./ }).waitFor();
    expect(await settings()).toEqual([{ kind: 'DEAD_LETTERS', forSeconds: 0, windowSeconds: 300 }]);
    await page.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await says(page, /^No alert rules yet\.$/);
  });

  it('are proposed by the page of a problem, go to people or PagerDuty, and say what the operator has to set', async () => {
    const { createQueue } = await account.graphql.query(
      `mutation Q { createQueue(input: { name: "held", webhookUrl: "http://127.0.0.1:9/" }) {
         ... on CreateQueuePayload { queue { id } } } }`,
    );
    const watched = await openPage(account.session, NARROW);
    const { page } = watched;
    const proposal = `/alerts?new=DEAD_LETTERS&queue=held&id=${createQueue.queue.id}&threshold=5`;
    await page.goto('/queues/held');
    await settled(watched);
    await page.evaluate((to) => history.pushState({ newAlert: 'from page' }, '', to), proposal);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL('**/queues/held');
    await page.goto(proposal);
    await settled(watched);
    expect(await page.getByLabel('Alert when').inputValue()).toBe('DEAD_LETTERS');
    expect(await page.getByLabel('in', { exact: true }).inputValue()).toBe('held');
    expect(await page.getByLabel('at least', { exact: true }).inputValue()).toBe('5');
    await page.getByLabel('Mail', { exact: true }).check();
    await page.getByLabel('Mail addresses').fill('ops@example.com dev@example.com');
    expect(await axeViolations(page)).toEqual([]);
    expect(await widerThanWindow(page)).toEqual([]);
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('alert').getByText('SMTP_URL').waitFor();
    await page.getByLabel('PagerDuty').check();
    await page.getByLabel('Integration key').fill('R0123456789abcdefR0123456789abcd');
    await page.getByLabel('Severity').selectOption('WARNING');
    await page.getByRole('button', { name: 'Create rule' }).click();
    const row = page.getByRole('row', { name: /At least 5.jobs in held die within 15.min\./ });
    await row.getByText('PagerDuty …abcd, warning').waitFor();
    expect(new URL(page.url()).search, 'a reload opens no dialog').toBe('');
    await row.getByRole('button', { name: /^Edit/ }).click();
    await page.getByText('Leave it empty to keep …abcd.').waitFor();
    await page.getByLabel('A webhook').check();
    await page.getByLabel('Webhook', { exact: true }).fill(`${receiver.url}/again`);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(/^whsec_[0-9a-f]{64}$/).waitFor();
    await page.getByRole('button', { name: 'I have copied it: close' }).click();
    await row.getByRole('button', { name: /^Delete/ }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await says(page, /^No alert rules yet\.$/);
  });

  it('a firing alert is shown with its cause, and disappears with its rule', async () => {
    const { createAlertRule } = await account.graphql.query(
      `mutation C($url: String!) {
         createAlertRule(input: { kind: NO_WORKER, forSeconds: 0, webhookUrl: $url }) {
           ... on CreateAlertRulePayload { rule { id } } } }`,
      { url: receiver.url },
    );
    await receiver.waitFor((requests) => requests.some((request) => request.raw.includes('firing')));
    const watched = await openPage(account.session);
    await watched.page.goto('/alerts');
    await settled(watched);
    await says(watched.page, /^1 alert is firing\.$/);
    await watched.page.getByRole('link', { name: /^Alerts.*1$/ }).waitFor();
    await watched.page.getByRole('region', { name: 'Firing now' }).getByText('No worker has been seen').waitFor();
    const narrow = await openPage(account.session, NARROW);
    await narrow.page.goto('/alerts');
    await settled(narrow);
    await narrow.page.getByText('No worker has been seen').waitFor();
    expect(await widerThanWindow(narrow.page)).toEqual([]);
    expect(await axeViolations(narrow.page)).toEqual([]);
    await account.graphql.query(`mutation { deleteAlertRule(id: "${createAlertRule.rule.id}") { __typename } }`);
    await watched.page.reload();
    await says(watched.page, /^No alert rules yet\.$/);
  });
});
