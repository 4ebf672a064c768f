import { beforeAll, describe, expect, it } from 'vitest';
import { openReceiver } from '../support/service.ts';
import { insertPast } from './history.ts';
import { NO_BROWSER } from './no-browser.ts';
import { openPage, useBrowser } from './page.ts';
import { settled } from './screens.ts';
import { says, textOf } from './sentence.ts';
import { type Account, type SmallService, startSmallService } from './small-service.ts';

/** The page of a queue: is it healthy, what limits it, and the jobs behind each of its figures. */

describe.skipIf(NO_BROWSER !== null)('the page of a queue', () => {
  let service: SmallService;
  useBrowser();
  beforeAll(async () => {
    service = await startSmallService();
  });

  it('is paused and resumed by one key, and every open tab says so', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    await account.operate.publish('orders', ['{}'], 3600);
    const [mine, other] = [await showQueue(account), await showQueue(account)];
    await other.goto('/');
    await says(other, /^The queue is healthy\b/);
    await mine.keyboard.press('p');
    await mine.getByText('orders paused').waitFor();
    await says(mine, /^Paused since .+ by jf_.+\. 1 job waits, nothing is lost\.$/);
    await says(other, /^The queue needs attention\.$/);
    await other.keyboard.press('1');
    await says(other, /^Paused since .+\. 1 job waits, nothing is lost\.$/);
    await mine.keyboard.press('p');
    await says(other, /^1 is scheduled at .+\.$/);
    await mine.getByText('orders resumed').waitFor();
    await mine.keyboard.press('z');
    await says(other, /^Paused since .+\. 1 job waits, nothing is lost\.$/);
  });

  it('offers to undo a pause as long as the offer is read', async () => {
    const account = await service.openAccount();
    await account.createQueue('orders', await openReceiver());
    const page = await showQueue(account);
    // The page's own clock, which a jump sets forward.
    await page.clock.install();
    await page.keyboard.press('p');
    const toast = page.locator('.toast', { hasText: 'orders paused' });
    await toast.hover();
    await page.clock.fastForward(30_000);
    await page.mouse.move(0, 0);
    await toast.getByRole('button', { name: 'Undo' }).focus();
    await page.clock.fastForward(30_000);
    expect(await toast.count()).toBe(1);
    await page.locator('h1').focus();
    await page.clock.fastForward(30_000);
    await toast.waitFor({ state: 'detached' });
  });

  it('leads from a span of the chart to the jobs of that time, by keyboard and by mouse', async () => {
    const account = await service.openAccount();
    const queueId = await account.createQueue('orders', await openReceiver());
    // The chart leaves out the present five minutes until half of them have passed.
    await service.inDatabase((db) =>
      insertPast(db, {
        queueId,
        from: 18,
        to: 8,
        count: 6,
        code: 200,
        tookMs: 50,
        lateMs: 10,
        end: 'completed',
        payload: `'{}'`,
      }),
    );
    const page = await showQueue(account);
    const start = page.getByRole('slider', { name: 'Start of the span of time' });
    await start.focus();
    // The chart has three hours in spans of five minutes; this leaves out the last half-hour.
    for (let n = 0; n < 5; n += 1) await page.keyboard.press('Shift+ArrowRight');
    await page.waitForURL(/[?&]from=.+&to=/);
    const jobs = page.getByRole('link', { name: '6 jobs in this period' });
    await jobs.waitFor();
    await page.keyboard.press('Escape');
    await jobs.waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).not.toMatch(/from=|to=/);

    const chart = await page.locator('.brush').boundingBox();
    if (chart === null) throw new Error('the chart has no brush');
    const at = (share: number) => [chart.x + chart.width * share, chart.y + chart.height / 2] as const;
    await page.mouse.move(...at(0.6));
    await page.mouse.down();
    await page.mouse.move(...at(0.8));
    await page.mouse.move(...at(0.999));
    await page.mouse.up();
    await jobs.click();
    await page.waitForURL('**/jobs?**');
    const q = new URL(page.url()).searchParams.get('q') ?? '';
    expect(q).toMatch(/^queue:orders created:.+\.\..+$/);
    await says(page, /^6 jobs match/);
    await page.locator('tbody tr').nth(5).waitFor();
    expect(await page.locator('tbody tr').count()).toBe(6);
  });

  it('marks changes on the time axis, which open in Activity, and compares with yesterday', async () => {
    const account = await service.openAccount();
    const queueId = await account.createQueue('orders', await openReceiver());
    const past = { queueId, count: 6, code: 200, tookMs: 50, lateMs: 10, end: 'completed', payload: `'{}'` } as const;
    await service.inDatabase(async (db) => {
      await insertPast(db, { ...past, from: 18, to: 8 });
      await insertPast(db, { ...past, from: 1458, to: 1448 });
      // So that it is in the five minutes that the chart shows.
      await db.query(
        `select jobferry_audit(account_id, '{"type":"member","id":"m","label":"aaron@example.com"}', 'queue.update', 'queue', id, name,
                               '{"webhookUrl":"https://a.example"}', '{"webhookUrl":"https://b.example"}') from queue where id = $1`,
        [queueId],
      );
      await db.query(
        `update audit_entry set id = jobferry_id(at - interval '15 min'), at = at - interval '15 min' where actor_label like 'aaron%'`,
      );
      await db.query(
        `insert into release_run (began_at, version)
         values (jobferry_now() - interval '50 min', '0.0.8'), (jobferry_now() - interval '40 min', '0.0.9')`,
      );
    });
    const page = await showQueue(account);
    await page.getByRole('link', { name: 'With yesterday' }).click();
    await page.waitForURL('**/queues/orders?compare=day');
    await page.locator('.legend', { hasText: /accepted yesterday/ }).waitFor();
    const mark = page.getByRole('link', { name: /aaron@example\.com changed the webhook address/ });
    // Its repetition in the other charts is not in the way of the keyboard.
    expect(await mark.count()).toBe(1);
    await mark.focus();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/activity?target=**');
    await says(page, /^aaron@example\.com changed the queue orders at .+\.$/);
    expect(await page.locator('tbody tr').count()).toBe(1);

    await page.goBack();
    await page.getByRole('link', { name: /Jobferry 0\.0\.9 took over from 0\.0\.8/ }).press('Enter');
    await page.waitForURL('**/activity?at=**');
    await page.getByRole('link', { name: 'Jobferry 0.0.9 took over from 0.0.8' }).waitFor();
    await service.inDatabase((db) => db.query(`delete from release_run where version like '0.0.%'`));

    await page.goto('/queues?compare=day');
    await page.getByRole('img', { name: /The same period yesterday: \d+\sattempts\.$/ }).waitFor();
    await page.goto('/jobs?compare=day');
    await page.getByText(/^The same period yesterday: 6\sjobs\.$/).waitFor();
  });

  it('has a link to what is behind each figure', async () => {
    const account = await service.openAccount();
    await account.createQueue(
      'orders',
      await openReceiver(({ raw }) => ({ status: raw.includes('bad') ? 500 : 200 })),
      {
        maxAttempts: 1,
      },
    );
    await account.letDie('orders', ['{"bad":1}', '{"bad":2}']);
    await account.publishUntil('COMPLETED', 'orders');
    await account.operate.publish('orders', ['{}', '{}', '{}'], 3600);
    const page = await showQueue(account);
    const figures: readonly [link: RegExp, address: RegExp, sentence: RegExp][] = [
      [/^scheduled 3$/, /queue:orders.*state:scheduled/, /^3 jobs match/],
      // Attempts of this hour, not jobs of all time by their last answer.
      [/^2 × 5xx$/, /attempts\?queue=orders&code=5xx&since=1h/, /^2 attempts match/],
    ];
    for (const [link, address, sentence] of figures) {
      await page.getByRole('link', { name: link }).click();
      await says(page, sentence);
      expect(page.url()).toMatch(address);
      await page.goBack();
      // The deliveries of the last minutes come first.
      await says(page, /^(3 are scheduled, the first at|Running: .+ per second from )/);
    }
    await page.getByRole('link', { name: 'Dead letters of orders' }).click();
    await says(page, /^2 dead letters match \(1 cause\)\./);
  });

  it('says who holds it, and ends the hold', async () => {
    const account = await service.openAccount();
    await account.createQueue('models', await openReceiver({ status: 202 }), { mode: 'ACK', concurrency: 1 });
    const asking = await account.publishUntil('AWAITING_ACK', 'models');
    await account.operate.defer(asking, 4800, 'tokens used up');
    const page = await showQueue(account, 'models');
    await says(page, /^Held for 1 h \d+ min more, until .+: “tokens used up”\. 1 job waits\.$/);
    const note = page.getByText(/asked for it: “tokens used up”/);
    expect(textOf(await note.innerText())).toMatch(
      new RegExp(`^The queue has been held since .+\\. Job …${asking.slice(-5)} asked for it`),
    );
    await page.getByRole('button', { name: 'End the hold' }).click();
    await page.getByText('Hold of models ended').waitFor();
    await note.waitFor({ state: 'detached' });
    await says(page, /^(Running|Probing)/);
    // Its button is gone.
    await page.locator('h1:focus').waitFor();
  });

  it('says when a queue was deleted, and that there never was one', async () => {
    const account = await service.openAccount();
    const id = await account.createQueue('orders', await openReceiver());
    await account.operate.change('deleteQueue', id);
    const watched = await openPage(account.session);
    await watched.page.goto('/queues/orders');
    await settled(watched);
    await says(watched.page, /^Deleted at .+\. Its jobs are kept until .+\.$/);
    await watched.page.goto('/queues/never');
    await says(watched.page, /^No queue has this name\.$/);
  });

  async function showQueue(account: Account, name = 'orders') {
    const watched = await openPage(account.session);
    await watched.page.goto(`/queues/${name}`);
    await settled(watched);
    return watched.page;
  }
});
