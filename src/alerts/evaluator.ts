import {
  type AccountOfRules,
  type AlertChanges,
  accountsWithRules,
  applyAlertChanges,
  type EvaluatedRule,
  loadAccountOfRules,
  type OpenAlertRow,
  pruneAlerts,
} from '../db/alerts/evaluation.ts';
import { ALERT_FACTS, measuredQueues } from '../db/alerts/facts.ts';
import type { Database } from '../db/connection/database.ts';
import { type AlertChange, evaluate, type Finding, noticesOf, type OpenAlert } from '../domain/alert.ts';
import { causeOfQueue, causeOfUsage, NO_WORKER, statisticsAreBehind } from '../domain/alert-cause.ts';
import { contentOf } from '../domain/alert-message.ts';
import { ALERT_LIMITS } from '../domain/alert-rule.ts';
import { type PlanTable, planNamed } from '../domain/plan.ts';
import { counts } from '../telemetry/counts/counts.ts';
import type { Logger } from '../telemetry/log.ts';

/** Time limit of each statement that reads. They use the connections of dashboards, in turns with the accounts. */
const STATEMENT_MS = 1000;
const TURN = 'alerts';
/** Statistics further behind say nothing about now. */
const MAX_BEHIND_SECONDS = 120;

export interface EvaluatorParts {
  db: Database;
  log: Pick<Logger, 'warn'>;
  plans: PlanTable;
  retentionMs: number;
  /** Names this process among those that evaluate. */
  holder: string;
}

/** The present facts about a rule. */
interface Findings {
  found: Finding[] | null;
  problem: string | null;
}

/** Evaluates the rules of one account after the other. */
export class Evaluator {
  readonly #parts: EvaluatorParts;

  constructor(parts: EvaluatorParts) {
    this.#parts = parts;
  }

  next(after: string, limit: number): Promise<string[]> {
    return accountsWithRules(this.#parts.db, after, limit);
  }

  /** @returns false if this process has lost its turn */
  async evaluateAccount(accountId: string): Promise<boolean> {
    const { db, log, holder, retentionMs } = this.#parts;
    const reading = db.reading(TURN, { maxMs: STATEMENT_MS });
    const account = await loadAccountOfRules(reading, accountId, retentionMs);
    if (account === null) return true;
    const findings = this.#ofAccount(account);
    for (const [id, found] of await this.#ofQueues(reading, accountId, account)) findings.set(id, found);
    const changes = changesOf(account, findings);
    for (const { problem } of changes.rules) counts.alertEvaluations.add(problem === null ? 'ok' : 'failed');
    if (!(await applyAlertChanges(db, holder, { accountId, nowMs: account.nowMs }, changes))) return false;
    // Alerts of a silenced rule end without a notification.
    if (changes.notifications.length > 0 || changes.updated.some(({ state }) => state === 'resolved')) {
      await pruneAlerts(db, accountId).catch((err: unknown) => {
        log.warn({ err, accountId }, 'old alerts of an account could not be removed; this will be retried');
      });
    }
    return true;
  }

  /** The findings of the rules that watch no queue. */
  #ofAccount({ rules, hasWorker, attempts, plan }: AccountOfRules): Map<string, Findings> {
    const { monthlyAttempts } = planNamed(this.#parts.plans, plan);
    const about = (value: number, cause: string) => [{ queueId: null, queueName: null, value, cause }];
    const findings = new Map<string, Findings>();
    for (const { id, kind, threshold } of rules) {
      if (kind === 'no_worker') findings.set(id, { found: hasWorker ? [] : about(0, NO_WORKER), problem: null });
      if (kind !== 'usage') continue;
      const isUsed = monthlyAttempts !== null && attempts * 100 >= threshold * monthlyAttempts;
      const percent = Math.floor((attempts * 100) / Math.max(monthlyAttempts ?? 1, 1));
      findings.set(id, { found: isUsed ? about(percent, causeOfUsage(attempts, monthlyAttempts)) : [], problem: null });
    }
    return findings;
  }

  /** The findings of the rules that watch queues. A statement that fails leaves the alerts of its rules as they are. */
  async #ofQueues(reading: Database, accountId: string, account: AccountOfRules): Promise<Map<string, Findings>> {
    const findings = new Map<string, Findings>();
    for (const facts of ALERT_FACTS) {
      const { kinds, ofStatistics } = facts;
      const rules = account.rules.filter(({ kind }) => kinds.includes(kind));
      if (rules.length === 0) continue;
      const set = (of: (rule: EvaluatedRule) => Findings) => {
        for (const rule of rules) findings.set(rule.id, of(rule));
      };
      if (ofStatistics && account.behindSeconds > MAX_BEHIND_SECONDS) {
        set(() => ({ found: null, problem: statisticsAreBehind(account.behindSeconds) }));
        continue;
      }
      try {
        const measured = await measuredQueues(reading, facts, accountId, rules);
        set((rule) => ({
          problem: null,
          found: measured
            .filter(({ ruleId }) => ruleId === rule.id)
            .map((one) => ({ ...one, cause: causeOfQueue(rule, one) })),
        }));
      } catch (err) {
        this.#parts.log.warn({ err, accountId, kinds }, 'alert rules could not be evaluated; this will be retried');
        set(() => ({ found: null, problem: 'the database took too long, or was not available' }));
      }
    }
    return findings;
  }
}

function changesOf({ rules, open, nowMs }: AccountOfRules, findings: Map<string, Findings>): AlertChanges {
  const all: AlertChanges = { rules: [], begun: [], updated: [], forgotten: [], notifications: [] };
  for (const rule of rules) {
    const { found, problem } = findings.get(rule.id) ?? { found: null, problem: null };
    all.rules.push({ id: rule.id, problem });
    const own = open.filter(({ ruleId }) => ruleId === rule.id);
    const { forSeconds, isSilenced } = rule;
    const canTell = rule.waiting < ALERT_LIMITS.waitingOfRule;
    // PagerDuty has an incident for each alert, so that it is notified of none which has no place in the notification.
    const room = rule.target === 'pagerduty' ? ALERT_LIMITS.named : Number.POSITIVE_INFINITY;
    const limits = { maxOpen: ALERT_LIMITS.openOfRule, canTell: canTell ? room : 0 };
    const changes = evaluate({ nowMs, forSeconds, open: own, findings: found, ...limits });
    const notices = noticesOf(own, changes, canTell && !isSilenced, room);
    all.begun.push(
      ...changes.flatMap((change) => (change.type === 'begin' ? [{ ruleId: rule.id, ...change.finding }] : [])),
    );
    all.forgotten.push(...changes.flatMap((change) => (change.type === 'forget' ? [change.alert.id] : [])));
    all.updated.push(
      ...updatesOf(rule.id, own, changes, new Map(notices.map(({ alert, state }) => [alert.id, state]))),
    );
    if (notices.length > 0) all.notifications.push({ ruleId: rule.id, content: contentOf(rule, notices, nowMs) });
  }
  return all;
}

/** The alerts that change, and those of which the receiver is notified now. */
function updatesOf(
  ruleId: string,
  open: readonly OpenAlertRow[],
  changes: readonly AlertChange[],
  notified: ReadonlyMap<string, 'firing' | 'resolved'>,
): AlertChanges['updated'] {
  const changed = new Map(changes.flatMap((change) => ('alert' in change ? [[change.alert.id, change] as const] : [])));
  return open.flatMap((before) => {
    const change = changed.get(before.id);
    const notifiedNow = notified.get(before.id) ?? null;
    if (change?.type === 'forget' || (change === undefined && notifiedNow === null)) return [];
    const alert: OpenAlert = change === undefined ? before : change.alert;
    const { id, firedAtMs, clearSinceMs, value, cause } = alert;
    const resolution = change?.type === 'resolve' ? change.resolution : null;
    const state = resolution === null ? ('firing' as const) : ('resolved' as const);
    return [{ id, ruleId, state, firedAtMs, clearSinceMs, value, cause, resolution, notified: notifiedNow }];
  });
}
