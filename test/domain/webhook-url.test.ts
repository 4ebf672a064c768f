import { describe, expect, it } from 'vitest';
import { parseWebhookUrl } from '../../src/domain/webhook-url.ts';

/** Case numbers are those of docs/invariants.md. */
describe('refused when the queue is created', () => {
  it.each([
    ['S57 userinfo that looks like a host', 'http://example.com@127.0.0.1/'],
    ['S58 user and password', 'http://user:pass@host/'],
    ['S58 password only', 'http://:pass@host/'],
    ['S59 ftp', 'ftp://example.com/'],
    ['S60 file', 'file:///etc/passwd'],
    ['S61 gopher', 'gopher://127.0.0.1:6379/_x'],
    ['S62 javascript', 'javascript:alert(1)'],
    ['S63 data', 'data:text/plain,x'],
    ['S64 ws', 'ws://example.com/'],
    ['S65 port 0', 'http://example.com:0/'],
    ['S66 zone', 'http://[fe80::1%25eth0]/'],
    ['S67 zone', 'http://[::1%lo]/'],
    ['S68 IPv4 in brackets', 'http://[127.0.0.1]/'],
    ['S69 octet above 255', 'http://256.256.256.256/'],
    ['S70 five octets', 'http://1.2.3.4.5/'],
    ['S71 number above 32 bits', 'http://4294967296/'],
    ['S72 port above 65535', 'http://example.com:65536/'],
    ['S73 no scheme', '//127.0.0.1/'],
    ['S74 no host', 'http://'],
    ['S75 escaped NUL in the host', 'http://127.0.0.1%00.example.com/'],
    ['H85 not a URI', 'not a url'],
    ['H85 empty', ''],
    ['H85 5000 characters', `http://example.com/${'a'.repeat(5000)}`],
    ['H85 too long once escaped', `http://example.com/${'ü'.repeat(500)}`],
    ['H85 NUL', 'http://example.com/\0'],
    ['line break, dropped by the parser', 'http://exam\nple.com/'],
    ['tab, dropped by the parser', 'java\tscript:alert(1)'],
  ])('%s', (_name, text) => {
    expect(parseWebhookUrl(text)).toEqual({ ok: false, message: expect.stringMatching(/^must /) });
  });
});

describe('accepted, and kept in its parsed form', () => {
  it.each([
    ['S76', 'http:127.0.0.1', 'http://127.0.0.1/'],
    ['S77', 'http:\\\\127.0.0.1\\', 'http://127.0.0.1/'],
    ['S79', 'http://example.com\\@127.0.0.1/', 'http://example.com/@127.0.0.1/'],
    ['S80', 'http://example.com#@127.0.0.1/', 'http://example.com/#@127.0.0.1/'],
    ['S2 a host in decimal', 'http://2130706433/', 'http://127.0.0.1/'],
    ['S4 a host in hex', 'http://0x7f.1/', 'http://127.0.0.1/'],
    ['S27 a host in octal', 'http://0300.0250.1.1/', 'http://192.168.1.1/'],
    ['upper case', 'HTTP://EXAMPLE.com', 'http://example.com/'],
    ['the highest port', 'https://example.com:65535/hook?a=b', 'https://example.com:65535/hook?a=b'],
    ['the default port', 'https://example.com:443/', 'https://example.com/'],
    ['an international name', 'https://bücher.example/ü', 'https://xn--bcher-kva.example/%C3%BC'],
    ['IPv6', 'http://[0:0:0:0:0:0:0:1]:8080/', 'http://[::1]:8080/'],
  ])('%s', (_name, text, href) => {
    expect(parseWebhookUrl(text)).toEqual({ ok: true, href });
  });
});
