import { signedReportText } from '../../../../src/domain/report-url.ts';
import type { DeliveredJob } from './delivery.ts';
import { verifySignature } from './signature.ts';

/** The second has the signature of the next secret during a rotation. */
export const REPORT_URL_HEADERS = ['x-jobferry-report-url', 'x-jobferry-report-url-next'] as const;

/**
 * Returns the report URL of a delivery if Jobferry has signed it for this attempt. The signature of the body covers no
 * headers, so another address, or that of another job, could have been put in.
 */
export async function verifiedReportUrl(
  urls: readonly (string | null)[],
  { id, attempt }: Pick<DeliveredJob<unknown>, 'id' | 'attempt'>,
  secrets: readonly string[],
): Promise<string | null> {
  for (const url of urls) {
    const [, unsigned, signature] = /^(https?:\/\/.+)\.([0-9a-f]{64})$/.exec(url ?? '') ?? [];
    if (unsigned === undefined || unsigned.split('/').at(-1)?.startsWith(`${id}.${attempt}.`) !== true) continue;
    if (await verifySignature(signedReportText(unsigned), `sha256=${signature}`, secrets)) return url;
  }
  return null;
}
