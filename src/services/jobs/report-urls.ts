import { createHmac, timingSafeEqual } from 'node:crypto';
import { isJobOf, type ReportHolder, reportHolder } from '../../db/jobs/report-holder.ts';
import type { Account } from '../../domain/account.ts';
import { readReportToken, signedReportText, unsignedReportUrl } from '../../domain/report-url.ts';
import { CredentialCache } from '../accounts/credential-cache.ts';
import type { Context } from '../context.ts';

/** The holder of a report URL may report on one attempt. */
export interface ReportRight {
  account: Account;
  jobId: string;
  attempt: number;
}

interface ReportUrls {
  /** @param token last part of the URL @returns null if it is forged, expired, or its job is gone */
  rightOf(token: string): Promise<ReportRight | null>;
}

/** @param base address that the URLs begin with, the same in every process */
export function createReportUrls({ db }: Pick<Context, 'db'>, base: string): ReportUrls {
  // By queue: a forged URL of a known queue costs no query, and strangers who guess queues take no connection that
  // others need.
  const holders = new CredentialCache<ReportHolder>((queueId) => reportHolder(db, queueId));

  return {
    async rightOf(token) {
      const target = readReportToken(token);
      if (target === null || target.expiresAt < Date.now()) return null;
      const { jobId, queueId, attempt, signature } = target;
      const holder = await holders.find(queueId);
      if (holder === null) return null;
      const text = signedReportText(unsignedReportUrl(base, target));
      if (!holder.secrets.some((secret) => isSignedWith(secret, text, signature))) return null;
      // A receiver knows the secret of its queue, and could sign the id of any job.
      if (!(await isJobOf(db, jobId, queueId))) return null;
      // A program's reports are not audited. The requests of all URLs of a queue are counted as those of one key.
      const actor = { type: 'api_key', id: queueId, label: `report URL of ${holder.queue.name}` } as const;
      return { account: { ...holder.account, actor }, jobId, attempt };
    },
  };
}

function isSignedWith(secret: string, text: string, signature: string): boolean {
  return timingSafeEqual(createHmac('sha256', secret).update(text).digest(), Buffer.from(signature, 'hex'));
}
