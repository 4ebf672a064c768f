import { parsedUrl } from './parsed-url.ts';

/**
 * Returns the receiver of a webhook: the host of its URL in lower case, with the port unless it is the scheme's own, such as
 * `api.partner.com` or `api.partner.com:8443`. Null for a text that is no URL.
 */
export function receiverOf(webhookUrl: string): string | null {
  return parsedUrl(webhookUrl)?.host ?? null;
}

/** Returns a receiver as `receiverOf` has it: people may write it with capitals or with space around it. */
export function asReceiver(text: string): string {
  return text.trim().toLowerCase();
}

export function isAtHost(webhookUrl: string, receiver: string): boolean {
  return receiverOf(webhookUrl) === asReceiver(receiver);
}

/** Returns the receivers of the same host with other ports, for people who left the port out. */
export function otherPorts(webhookUrls: readonly string[], receiver: string): string[] {
  const wanted = asReceiver(receiver);
  const host = parsedUrl(`http://${wanted}`)?.hostname ?? wanted;
  const found = webhookUrls.filter((url) => parsedUrl(url)?.hostname === host);
  return [...new Set(found.flatMap((url) => receiverOf(url) ?? []))].filter((other) => other !== wanted).sort();
}
