import { examine } from '../../delivery/examine.ts';
import { createSender, type Sender } from '../../delivery/send.ts';
import type { ExaminationFinding, Examined } from '../../domain/receiver-examination.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { Config } from '../config.ts';
import type { Foundations } from './foundations.ts';

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
    reportUrl: config.reportUrl,
    log,
  });
}

/** Returns a function that examines receivers by the settings. Its signal aborts when the client has left. */
export function createExaminer(
  config: Config,
  sender: Sender,
): (receiver: Examined, signal?: AbortSignal) => Promise<ExaminationFinding[]> {
  const { signatureHeader, webhookTimeoutMs: timeoutMs, jobLifetimeMs: lifetimeMs } = config;
  return (receiver, signal) => examine(sender, receiver, { signatureHeader, timeoutMs, lifetimeMs, signal });
}

/** A sender that is closed when the process ends. */
export function openOwnSender(
  { config, started }: Pick<Foundations, 'config' | 'started'>,
  maxSockets: number,
  how: { timeoutMs?: number; log?: Logger } = {},
): Sender {
  const sender = openSender(config, maxSockets, how);
  started.add(() => sender.close());
  return sender;
}
