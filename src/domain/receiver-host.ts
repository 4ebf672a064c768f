import { parsedUrl } from './parsed-url.ts';

/**
 * Returns the receiver of a webhook: the host of its URL in lower case, with the port unless it is the scheme's own,
 * such as `api.partner.com` or `api.partner.com:8443`. Null for a text that is no URL.
 */
export function receiverOf(webhookUrl: string): string | null {
  return parsedUrl(webhookUrl)?.host ?? null;
}

/**
 * Longer than each host with its scheme and port, so that a text of a megabyte, which a client chooses, is not parsed.
 */
const MAX_TYPED = 300;

/**
 * Returns a receiver as `receiverOf` has it. People may write it with space around it, with capitals or letters of
 * their language (`bücher.example`), or as a URL. A port 443 or 80 after a host alone stays, because a webhook of the
 * other scheme has that port in its receiver: `api.partner.com:443` is the receiver of `http://api.partner.com:443/`. A
 * text that is no host matches no receiver.
 */
export function asReceiver(text: string): string {
  const typed = text.trim();
  const asTyped = typed.toLowerCase();
  const [url] = /^https?:\/\/[^/\\?#]*/i.exec(typed) ?? [];
  // The parser takes quadratic time for letters of other alphabets.
  if ((url ?? typed).length > MAX_TYPED) return asTyped;
  if (url !== undefined) return receiverOf(url) ?? asTyped;
  if (/[/\\?#@]/.test(typed)) return asTyped;
  // Under the scheme of which the port is not the default, or the parser would leave it out.
  return receiverOf(`${/:0*80$/.test(typed) ? 'https' : 'http'}://${typed}`) ?? asTyped;
}

/** Returns the receivers of the same host with other ports, for people who left the port out. */
export function otherPorts(webhookUrls: readonly string[], receiver: string): string[] {
  const wanted = asReceiver(receiver);
  const host = (wanted.length > MAX_TYPED ? null : parsedUrl(`http://${wanted}`)?.hostname) ?? wanted;
  const found = webhookUrls.filter((url) => parsedUrl(url)?.hostname === host);
  return [...new Set(found.flatMap((url) => receiverOf(url) ?? []))].filter((other) => other !== wanted).sort();
}
