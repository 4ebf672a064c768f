/**
 * Returns the receiver of a webhook: the host of its URL in lower case, with the port unless it is the scheme's own, such as
 * `api.partner.com` or `api.partner.com:8443`. Null for a text that is no URL.
 */
export function receiverOf(webhookUrl: string): string | null {
  return URL.canParse(webhookUrl) ? new URL(webhookUrl).host : null;
}

/** Whether a webhook is at a receiver, which people may write with capitals. */
export function isAtHost(webhookUrl: string, receiver: string): boolean {
  return receiverOf(webhookUrl) === receiver.trim().toLowerCase();
}

/** Returns the receivers of the same host with other ports, for people who left the port out. */
export function otherPorts(webhookUrls: readonly string[], receiver: string): string[] {
  const wanted = receiver.trim().toLowerCase();
  const host = URL.canParse(`http://${wanted}`) ? new URL(`http://${wanted}`).hostname : wanted;
  const found = webhookUrls.filter((url) => URL.canParse(url) && new URL(url).hostname === host);
  return [...new Set(found.flatMap((url) => receiverOf(url) ?? []))].filter((other) => other !== wanted).sort();
}
