import { signedReportText } from '../../domain/report-url.ts';
import { verifySignature } from './signature.ts';

/**
 * Returns the report URL of a delivery if Jobferry has signed it. Of the headers only the signature itself is verified with
 * the body, so another address could have been put in.
 */
export async function verifiedReportUrl(url: string | null, secrets: readonly string[]): Promise<string | null> {
  const [, unsigned, signature] = /^(https?:\/\/.+)\.([0-9a-f]{64})$/.exec(url ?? '') ?? [];
  if (unsigned === undefined) return null;
  return (await verifySignature(signedReportText(unsigned), `sha256=${signature}`, secrets)) ? url : null;
}
