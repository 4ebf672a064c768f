/** Whether a webhook is at a host: `api.partner.com` is the host with any port, `api.partner.com:8443` that port alone. */
export function isAtHost(webhookUrl: string, host: string): boolean {
  if (!URL.canParse(webhookUrl)) return false;
  const { hostname, host: withPort } = new URL(webhookUrl);
  const wanted = host.toLowerCase();
  return hostname === wanted || withPort === wanted;
}
