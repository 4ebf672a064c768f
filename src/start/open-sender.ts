import type { Config } from '../config.ts';
import { createSender, type Sender } from '../delivery/send.ts';
import type { Logger } from '../log.ts';

/** The outbound side by the settings. @param maxSockets see `SenderOptions` */
export function openSender(
  config: Config,
  maxSockets: number,
  { timeoutMs = config.webhookTimeoutMs, log }: { timeoutMs?: number; log?: Logger } = {},
): Sender {
  return createSender({
    timeoutMs,
    signatureHeader: config.signatureHeader,
    allowCidrs: [...config.webhookAllowCidrs],
    dnsServers: config.webhookDnsServers,
    maxSockets,
    proxyUrl: config.webhookProxyUrl,
    log,
  });
}
