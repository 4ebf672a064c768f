import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { axeViolations, smallTargets, widerThanWindow } from './checks.ts';
import { NO_BROWSER } from './no-browser.ts';
import { DESKTOP, NARROW, openPage, PHONE, setMedia, useBrowser } from './page.ts';
import { seedWithPeople } from './people.ts';
import { settled } from './screens.ts';
import type { WatchedPage } from './watched-page.ts';

/** Signing in and out, and who has signed in. */

const SIGN_IN = { name: 'Sign in to Jobferry' };
/** Complaints of a page that loses its session: answers and lines of the console. */
const ENDED = /answer 401|status of 401|request failed|net::ERR_(ABORTED|INCOMPLETE)/;

describe.skipIf(NO_BROWSER !== null)('sessions', () => {
  let people: Awaited<ReturnType<typeof seedWithPeople>>;
  useBrowser();
  beforeAll(async () => {
    people = await seedWithPeople();
  });

  async function expectSignedOut({ page }: WatchedPage): Promise<void> {
    await page.getByRole('heading', SIGN_IN).waitFor();
    expect(new URL(page.url()).search).toBe('');
    const { signedIn } = await page.evaluate(
      async () => (await (await fetch('/session')).json()) as { signedIn: boolean },
    );
    expect(signedIn).toBe(false);
  }

  it('end by the menu of the rail: nothing is left for who presses Back, and other tabs notice', async () => {
    const watched = await openPage((await people.signIn('admin')).session, DESKTOP);
    const { page } = watched;
    await page.goto('/jobs?q=queue:order-events');
    await settled(watched);
    const other = await page.context().newPage();
    await other.goto('/queues');
    await other.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Queues' }).first().click();
    await settled(watched);
    watched.announce(ENDED);
    await page.getByRole('button', { name: /^Account:/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expectSignedOut(watched);
    await other.getByRole('heading', SIGN_IN).waitFor();
    expect(new URL(other.url()).searchParams.get('to')).toBe('/queues');

    await page.goBack();
    await page.getByRole('heading', SIGN_IN).waitFor();
    expect(await page.locator('body').innerText()).not.toMatch(/order-events|Live|Overview/);
  });

  it('end by the account button of a phone, and by the palette', async () => {
    const phone = await openPage((await people.signIn('viewer')).session, PHONE);
    await phone.page.goto('/');
    await settled(phone);
    phone.announce(ENDED);
    await phone.page.getByRole('button', { name: /^Account:/ }).tap();
    await phone.page.getByRole('button', { name: 'Sign out' }).tap();
    await expectSignedOut(phone);

    const watched = await openPage((await people.signIn('viewer')).session);
    await watched.page.goto('/system');
    await settled(watched);
    watched.announce(ENDED);
    await watched.page.keyboard.press('Control+k');
    await watched.page.getByRole('combobox').fill('sign out');
    await watched.page.getByRole('option', { name: /^Sign out/ }).waitFor();
    await watched.page.keyboard.press('Enter');
    await expectSignedOut(watched);
  });

  it('do not end before unsaved changes are given up', async () => {
    const watched = await openPage((await people.signIn('admin')).session);
    const { page } = watched;
    await page.goto('/queues/order-events/edit');
    await settled(watched);
    await page.getByLabel('Concurrency').fill('7');
    await page.getByRole('button', { name: /^Account:/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: /^Leave without saving/ }).waitFor();
    watched.announce(ENDED);
    await page.getByRole('button', { name: 'Leave' }).click();
    await expectSignedOut(watched);
  });

  it('stay when the server cannot be reached, and the page says so', async () => {
    const watched = await openPage((await people.signIn('viewer')).session);
    const { page } = watched;
    await page.goto('/system');
    await settled(watched);
    watched.announce(/request failed|Failed to load/);
    await page.route('**/session', (route) => route.abort());
    await page.getByRole('button', { name: /^Account:/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('Not signed out: the server could not be reached.').waitFor();
    expect(await page.getByRole('heading', SIGN_IN).count()).toBe(0);
  });

  it('are listed for an admin, and end one by one, the own one last', async () => {
    const { signIn } = people;
    const [admin, viewer] = [await signIn('admin'), await signIn('viewer')];
    const [watched, theirs] = [await openPage(admin.session), await openPage(viewer.session)];
    const { page } = watched;
    await theirs.page.goto('/system');
    await settled(theirs);
    await page.goto('/settings/sessions');
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^\d+ sessions are open\.$/);
    const rowOf = (label: string) => page.locator('tbody tr', { hasText: label });
    expect(await rowOf(admin.email).innerText()).toContain('this session');
    theirs.announce(ENDED);
    await rowOf(viewer.email).getByRole('button').click();
    await page.getByRole('heading', { name: `End the session of ${viewer.email}?` }).waitFor();
    await page.getByRole('button', { name: 'End it' }).click();
    await page.getByText(`A session of ${viewer.email} is ended.`).waitFor();
    await rowOf(viewer.email).waitFor({ state: 'detached' });
    await theirs.page.getByRole('heading', SIGN_IN).waitFor();

    watched.announce(ENDED);
    await rowOf(admin.email).getByRole('button').click();
    await page.getByText('you will be signed out').waitFor();
    await page.getByRole('button', { name: 'End it, and sign out' }).click();
    await expectSignedOut(watched);
  });

  it('are for others only their own', async () => {
    const operator = await people.signIn('operator');
    const watched = await openPage(operator.session);
    const { page } = watched;
    await page.goto('/settings/sessions');
    await settled(watched);
    expect(await page.locator('h1').innerText()).toBe('You have 1 open session.');
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  it('all sessions of a member end at once', async () => {
    const { signIn } = people;
    const [admin, operator] = [await signIn('admin'), await signIn('operator')];
    const [watched, theirs] = [await openPage(admin.session), await openPage(operator.session)];
    const { page } = watched;
    await theirs.page.goto('/jobs');
    await settled(theirs);
    await page.goto('/settings/members');
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^\d+ people have signed in\. \d+ are signed in now\.$/);
    const row = page.locator('tbody tr', { hasText: operator.email });
    expect(await row.innerText()).toMatch(/operator, sees no payloads/);
    expect(await page.locator('tbody tr', { hasText: admin.email }).innerText()).toMatch(/you\s+admin, sees payloads/);
    theirs.announce(ENDED);
    await row.getByRole('button').click();
    await page.getByRole('button', { name: 'End them' }).click();
    await page.getByText(`1 session of ${operator.email} ended.`).waitFor();
    await theirs.page.getByRole('heading', SIGN_IN).waitFor();
    await row.getByRole('button').waitFor({ state: 'detached' });
  });

  it('members that do not fit on a page are on further ones', async () => {
    const { service, signIn } = people;
    const db = new pg.Client({ connectionString: service.databaseUrl });
    await db.connect();
    await db.query(
      `insert into member (account_id, issuer, subject, name, role, may_view_payloads)
       select account.id, 'http://localhost:9/', 'many-' || n, 'Person ' || n, 'viewer', false
         from (select id from account order by id limit 1) account, generate_series(1, 60) n`,
    );
    await db.end();
    const watched = await openPage((await signIn('admin')).session);
    const { page } = watched;
    await page.goto('/settings/members');
    await settled(watched);
    expect(await page.locator('h1').innerText()).toMatch(/^\d+ people have signed in\.$/);
    expect(await page.locator('tbody tr').count()).toBe(50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.locator('tbody tr', { hasText: 'Person 1' }).first().waitFor();
    expect(new URL(page.url()).searchParams.has('after')).toBe(true);
    await page.goBack();
    await page.locator('tbody tr', { hasText: 'Person 60' }).waitFor();
  });

  it.each(['/settings/members', '/settings/sessions'])('people with long names fit everywhere: %s', async (path) => {
    const { service, signIn } = people;
    const admin = await signIn('admin');
    const db = new pg.Client({ connectionString: service.databaseUrl });
    await db.connect();
    const name = 'Konstantin-Alexander von und zu Hohenlohe-Waldenburg';
    await db.query('update member set name = $2, email = $3 where id = $1', [
      admin.id,
      name,
      `${'x'.repeat(60)}@example.com`,
    ]);
    await db.end();
    const watched = await openPage(admin.session, { ...NARROW, reducedMotion: true });
    const { page } = watched;
    await page.goto(path);
    await settled(watched);
    await page.locator('tbody').getByText(name).first().waitFor();
    for (const width of [320, 390, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await widerThanWindow(page)).toEqual([]);
      expect(await smallTargets(page)).toEqual([]);
      for (const colorScheme of ['light', 'dark'] as const) {
        await setMedia(page, { colorScheme });
        expect(await axeViolations(page)).toEqual([]);
      }
    }
    await page
      .getByRole('button', { name: /^Account:/ })
      .filter({ visible: true })
      .click();
    expect([...(await widerThanWindow(page)), ...(await axeViolations(page))]).toEqual([]);
  });

  it.each([
    ['no_role', /you have no role in Jobferry\. Ask an administrator/],
    ['provider_unavailable', /does not answer\. Try again in a minute/],
    ['unheard_of', /^The sign-in with the provider failed\. Try again\.$/],
  ])('a failed sign-in with a provider shows why: %s', async (code, sentence) => {
    const watched = await openPage({ url: people.url, cookie: null });
    const { page } = watched;
    await page.goto(`/sign-in?error=${code}&to=%2Fjobs`);
    expect(await page.getByRole('alert').innerText()).toMatch(sentence);
    const link = page.getByRole('link', { name: /^Continue with/ });
    expect(await link.getAttribute('href')).toMatch(/\/session\/oidc\?to=\/jobs$/);
  });

  it('are not replaced by a sign-in link, which any page can lead to', async () => {
    const link = `/sign-in#jfl_${'x'.repeat(43)}`;
    const signedIn = await openPage((await people.signIn('viewer')).session, DESKTOP);
    await signedIn.page.goto(link);
    await signedIn.page.getByRole('alert').filter({ hasText: 'already signed in: sign out first' }).waitFor();
    expect(new URL(signedIn.page.url()).hash).toBe('');

    const other = await openPage({ url: people.url, cookie: null });
    other.announce(ENDED);
    await other.page.goto(link);
    await other.page.getByRole('alert').filter({ hasText: 'This link was used before' }).waitFor();
    await other.page.getByText('jobferry sign-in-link').waitFor();
  });
});
