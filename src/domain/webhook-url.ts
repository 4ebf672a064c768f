import { LIMITS } from './queue.ts';

type ParsedWebhookUrl = { ok: true; href: string } | { ok: false; message: string };

/** The URL parser drops some of these silently, so that what is stored would not be what was sent. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;

/**
 * Reads a queue's `webhookUrl` (reliability.md section 5, R1 and R2). It is parsed once, and `href` is
 * what must be stored and used: `http:127.0.0.1` and `http://2130706433/` then name their host plainly.
 * Whether the address may be called is not asked here but at every connect (D34).
 */
export function parseWebhookUrl(text: string): ParsedWebhookUrl {
  if (CONTROL_CHARACTER.test(text)) return refused('must not contain control characters');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return refused('must be an absolute http or https URL');
  }
  // HTTP clients drop credentials silently; better to say so when the queue is created.
  if (url.username !== '' || url.password !== '') return refused('must not contain a user name or password');
  if (url.port === '0') return refused('must have a port between 1 and 65535');
  // Escaping can make the parsed form up to nine times as long as what was typed.
  if (text.length > LIMITS.webhookUrlLength || url.href.length > LIMITS.webhookUrlLength) {
    return refused(`must be at most ${LIMITS.webhookUrlLength} characters long`);
  }
  return { ok: true, href: url.href };
}

function refused(message: string): ParsedWebhookUrl {
  return { ok: false, message };
}
