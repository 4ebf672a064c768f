import { afterAll } from 'vitest';
import { Evaluator } from '../../src/alerts/evaluator.ts';
import type { Mailer } from '../../src/alerts/mailer.ts';
import { Notifier } from '../../src/alerts/notifier.ts';
import { takeAlertTurn } from '../../src/db/alerts/turn.ts';
import type { Database } from '../../src/db/connection/database.ts';
import { createSender } from '../../src/delivery/send.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import type { GraphQL } from './graphql.ts';

/** A notification as a receiver reads it. */
export interface ReceivedAlerts {
  id: string;
  type: string;
  rule: { id: string; kind: string; queue: string | null; threshold: number | null };
  alerts: { id: string; state: string; queue: string | null; cause: string; value: number }[];
  others: number;
  url: string | null;
}

/** Evaluates and sends when the test says so. */
export function openAlerts(
  db: Database,
  {
    timeoutMs = 5000,
    mailer = null,
    pagerDutyUrl = 'http://127.0.0.1:9/',
  }: { timeoutMs?: number; mailer?: Mailer | null; pagerDutyUrl?: string } = {},
) {
  const sender = createSender({ timeoutMs, signatureHeader: 'x-service-signature', allowCidrs: ['127.0.0.0/8'] });
  afterAll(() => sender.close());
  const log = { warn: () => undefined };
  const parts = { db, log, plans: DEFAULT_PLANS, retentionMs: 86_400_000, holder: 'test' };
  const evaluator = new Evaluator(parts);
  const notifier = new Notifier({ db, log, sender, mailer, pagerDutyUrl, pageUrl: 'http://host/alerts' });
  return {
    evaluator,
    notifier,
    /** Evaluates an account, as the process whose turn it is. */
    async evaluate(accountId: string): Promise<void> {
      if ((await takeAlertTurn(db, 'test', null)) === null) throw new Error('another process evaluates');
      if (!(await evaluator.evaluateAccount(accountId))) throw new Error('nothing was written');
    },
    /** Sends what is due, and waits for the answers. */
    async send(): Promise<void> {
      await notifier.round();
      await notifier.idle();
    },
    /** Makes the conditions of the open alerts of an account older, as if time had passed. */
    async age(accountId: string, seconds: number): Promise<void> {
      await db.query(
        `update alert set since = since - $2 * interval '1 s', clear_since = clear_since - $2 * interval '1 s'
          where account_id = $1 and state <> 'resolved'`,
        [accountId, seconds],
      );
    },
  };
}

export interface CreatedRule {
  id: string;
  signingSecret: string;
}

/** Creates a rule over the wire. */
export async function createRule(graphql: GraphQL, input: object): Promise<CreatedRule> {
  const { createAlertRule: made } = await graphql.query(
    `mutation C($input: CreateAlertRuleInput!) {
      createAlertRule(input: $input) {
        ... on CreateAlertRulePayload { signingSecret rule { id } }
        ... on Error { message }
      }
    }`,
    { input },
  );
  if (made.rule === undefined) throw new Error(made.message);
  return { id: made.rule.id, signingSecret: made.signingSecret };
}
