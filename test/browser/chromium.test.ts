import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver } from '../support/receiver.ts';
import { findProgram, launchChromium } from './chromium.ts';
import { INSTALLED, NO_BROWSER } from './no-browser.ts';

/** The libraries of glibc and of its compiler, which Node itself needs. */
const OF_NODE = /^(linux-vdso|ld-linux-x86-64|lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+))\.so/;

describe.skipIf(NO_BROWSER !== null)('the browser of the tests', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser.close());

  it('shows a page', async () => {
    const page = await browser.newPage();
    await page.setContent('<h1>All is quiet.</h1>');
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('All is quiet.');
    await page.close();
  });

  it('enforces what the tests rely on: content policies and origins', async () => {
    const other = await startReceiver({ respond: { body: 'of another origin' } });
    const own = await startReceiver({
      respond: {
        headers: { 'content-security-policy': "script-src 'self'", 'content-type': 'text/html' },
        body: '<title>kept</title><script>document.title = "an inline script ran"</script>',
      },
    });
    const page = await browser.newPage();
    await page.goto(own.url);
    expect(await page.title()).toBe('kept');
    const read = await page.evaluate((url) => fetch(url).then((answer) => answer.text(), String), other.url);
    expect(read).toContain('Failed to fetch');
    expect(other.requests).toHaveLength(1);
    await Promise.all([page.close(), own.close(), other.close()]);
  });

  it('reaches no host but this machine', async () => {
    const page = await browser.newPage();
    await expect(page.goto('http://example.com/')).rejects.toThrow('ERR_NAME_NOT_RESOLVED');
    await expect(page.goto('http://192.0.2.1/')).rejects.toThrow('ERR_NAME_NOT_RESOLVED');
    await page.close();
  });
});

describe.runIf(NO_BROWSER === null && INSTALLED === null)('the Chromium of the package', () => {
  it('needs no library of the machine that Node does not need', async () => {
    const { path, env } = await findProgram();
    const { stdout } = await promisify(execFile)('ldd', [path], { env });
    const libraries = stdout.split('\n').flatMap((line) => {
      const [, name = '', found = null] = /^\s*(\S+?\.so\S*)(?: => (.+?))?(?: \(|$)/.exec(line) ?? [];
      return name === '' ? [] : [{ name: name.split('/').at(-1) ?? '', found }];
    });
    expect(libraries.length).toBeGreaterThan(5);
    const others = libraries.filter(({ name }) => !OF_NODE.test(name));
    expect(others.filter(({ found }) => !found?.startsWith(join(env.LD_LIBRARY_PATH ?? '', '/')))).toEqual([]);
  });
});
