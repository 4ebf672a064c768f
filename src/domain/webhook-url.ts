import { parsedUrl } from './parsed-url.ts';
import { LIMITS } from './queue.ts';

type ParsedWebhookUrl = { ok: true; href: string } | { ok: false; message: string };

/** The URL parser drops some of these silently, so the stored URL would differ from the one that was sent. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern has to match control characters
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

/**
 * Parses a queue's `webhookUrl` (R1 and R2). Callers must store and use `href`: in
 * it, `http:127.0.0.1` and `http://2130706433/` name their host plainly. Whether deliveries may connect to
 * the address is not checked here but at every connect (D34).
 */
export function parseWebhookUrl(text: string): ParsedWebhookUrl {
  if (CONTROL_CHARACTER.test(text)) return refused('must not contain control characters');
  const url = parsedUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return refused('must be an absolute http or https URL');
  }
  // HTTP clients drop credentials silently, so the queue is refused instead.
  if (url.username !== '' || url.password !== '') return refused('must not contain a user name or password');
  if (url.port === '0') return refused('must have a port between 1 and 65535');
  // Escaping can make the parsed form up to nine times as long as the given text.
  if (text.length > LIMITS.webhookUrlLength || url.href.length > LIMITS.webhookUrlLength) {
    return refused(`must be at most ${LIMITS.webhookUrlLength} characters long`);
  }
  return { ok: true, href: url.href };
}

function refused(message: string): ParsedWebhookUrl {
  return { ok: false, message };
}
