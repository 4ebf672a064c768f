import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { addressOf, rememberAddress } from '../../../src/cli/dev/address-file.ts';

it('the address of a folder is that of a running service on this machine', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-address-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  expect(await addressOf(folder)).toBe(null);
  for (const url of ['http://127.0.0.1:8080', 'http://localhost:8080', 'http://[::1]:8080']) {
    await rememberAddress(folder, `${url}/`);
    expect(await addressOf(folder)).toBe(url);
  }
  // As a foreign repository could bring it.
  for (const text of ['https://elsewhere.example/', 'http://127.0.0.1.elsewhere.example/', 'http://192.0.2.1/', 'x']) {
    await writeFile(join(folder, 'url'), `${text}\n${process.pid}\n`);
    expect(await addressOf(folder), text).toBe(null);
  }
  for (const pid of ['', '0', '-1', '2147483647']) {
    await writeFile(join(folder, 'url'), `http://127.0.0.1:8080/\n${pid}\n`);
    expect(await addressOf(folder), pid).toBe(null);
  }
});
