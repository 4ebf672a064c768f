import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { reportHolder } from '../../db/jobs/report-holder.ts';
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

export interface ReportUrls {
  /** @param token last part of the URL @returns null if it is forged, expired, or its job is gone */
  rightOf(token: string): Promise<ReportRight | null>;
}

/** @param base address that the URLs begin with, the same in every process */
export function createReportUrls({ db }: Pick<Context, 'db'>, base: string): ReportUrls {
  async function look(token: string): Promise<ReportRight | null> {
    const target = readReportToken(token);
    if (target === null || target.expiresAt < Date.now()) return null;
    const { jobId, attempt, signature } = target;
    const found = await reportHolder(db, jobId);
    if (found === null) return null;
    const text = signedReportText(unsignedReportUrl(base, target));
    if (!found.secrets.some((secret) => isSignedWith(secret, text, signature))) return null;
    const { id, name } = found.queue;
    // A program's reports are not audited. The requests of all URLs of a queue are counted as those of one key.
    const actor = { type: 'api_key', id, label: `report URL of ${name}` } as const;
    return { account: { ...found.account, actor }, jobId, attempt };
  }

  // As for keys: strangers who guess take no connection that others need.
  const rights = new CredentialCache<ReportRight>(async (hash) => look(tokens.get(hash) ?? ''));
  /** Tokens whose look-up is running, by their hash. */
  const tokens = new Map<string, string>();

  return {
    async rightOf(token) {
      if (readReportToken(token) === null) return null;
      const hash = createHash('sha256').update(token).digest('hex');
      const cached = rights.cached(hash);
      if (cached !== undefined) return cached;
      tokens.set(hash, token);
      return rights.lookUp(hash).finally(() => tokens.delete(hash));
    },
  };
}

function isSignedWith(secret: string, text: string, signature: string): boolean {
  return timingSafeEqual(createHmac('sha256', secret).update(text).digest(), Buffer.from(signature, 'hex'));
}
