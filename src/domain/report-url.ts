/** The path below which the report URLs of deliveries are. */
export const REPORT_PATH = 'report';

/** A report URL is valid for this long from the delivery on, and only while the attempt is in flight. */
export const REPORT_URL_MS = 7 * 86_400_000;

/** The facts that a report URL names. */
interface ReportTarget {
  jobId: string;
  queueId: string;
  attempt: number;
  /** In milliseconds since 1970. */
  expiresAt: number;
}

/** Returns a report URL without its signature. */
export function unsignedReportUrl(base: string, { jobId, queueId, attempt, expiresAt }: ReportTarget): string {
  return `${base}/${REPORT_PATH}/${jobId}.${attempt}.${queueId}.${expiresAt}`;
}

/** Returns the text that is signed. No envelope begins like it, so no delivery has the same signature. */
export function signedReportText(unsignedUrl: string): string {
  return `jobferry-report-url:${unsignedUrl}`;
}

/** Reads the last part of a report URL. @returns null if it is none */
export function readReportToken(token: string): (ReportTarget & { signature: string }) | null {
  const [, jobId, attempt, queueId, expiresAt, signature] =
    /^([0-9a-f]{24})\.([1-9]\d{0,5})\.([0-9a-f]{24})\.([1-9]\d{12,14})\.([0-9a-f]{64})$/.exec(token) ?? [];
  if (jobId === undefined || queueId === undefined || signature === undefined) return null;
  return { jobId, queueId, attempt: Number(attempt), expiresAt: Number(expiresAt), signature };
}
