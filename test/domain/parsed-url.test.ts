import { expect, it } from 'vitest';
import { parsedUrl } from '../../src/domain/parsed-url.ts';

it('takes a URL with letters of one byte each, however often it has been called', () => {
  for (let n = 0; n < 300_000; n += 1) parsedUrl(`https://example.com/${n % 7}`);
  expect(parsedUrl('https://bücher.example/café')?.href).toBe('https://xn--bcher-kva.example/caf%C3%A9');
});

it('is null for what is no absolute URL', () => {
  for (const text of ['', 'x', '/jobs', 'https://', 'http://a b/']) expect(parsedUrl(text), text).toBeNull();
});
