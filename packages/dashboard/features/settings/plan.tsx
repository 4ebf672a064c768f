import { useQuery } from '@tanstack/preact-query';
import { Fragment, type ReactNode } from 'preact/compat';
import type { ResultOf } from '../../../query/schema/graphql.ts';
import { number, percent, seconds, time } from '../../../query/words/format.ts';
import { query } from '../../api/query.ts';
import { useNow } from '../../base/time.ts';
import { Page } from '../../parts/page/page.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { Failure, Skeleton } from '../../parts/states.tsx';
import { createdAtOf, headOfPlan, monthOf, nameOfMonth, projectedAttempts } from './model/usage.ts';
import { PlanUse } from './operations.ts';
import { QueueUsage } from './queue-usage.tsx';

/** While it loads: what comes pushes the tabs down by one line less. */
const ROOM_FOR_LEAD = '\u00a0';

type Account = ResultOf<typeof PlanUse>['account'];

export function Plan({ tabs }: { tabs: ReactNode }) {
  const result = useQuery({ ...query(PlanUse, {}), refetchInterval: 60_000 });
  const account = result.data?.account;
  return (
    <Page
      title="Plan and usage"
      crumbs={[{ label: 'Settings' }, { label: 'Plan and usage' }]}
      h1={account === undefined ? 'Plan and usage' : headOfPlan(account.usage, account.plan)}
      lead={account === undefined ? ROOM_FOR_LEAD : `The account ${account.name} has the plan ${account.plan.name}.`}
    >
      {tabs}
      <Failure result={result} what="The plan" />
      {account === undefined ? (
        result.isLoading && <Skeleton lines={4} />
      ) : (
        <>
          <Use account={account} />
          <Limits plan={account.plan} />
          {/* The last part: its table comes later, and pushes nothing down. */}
          <QueueUsage present={account.usage.month} past={account.usage.months.map(({ month }) => month)} />
        </>
      )}
    </Page>
  );
}

function Use({ account: { id, plan, usage } }: { account: Account }) {
  const now = useNow();
  const view = { now, zone: 'utc' } as const;
  const projected = projectedAttempts(usage.attempts, usage.month, createdAtOf(id), now);
  const whole = plan.monthlyAttempts ?? plan.includedAttempts;
  return (
    <section aria-labelledby="use">
      <div className="sec-head">
        <h2 id="use">Use in {nameOfMonth(usage.month)}</h2>
        <span className="small q">resets on {time(monthOf(usage.month).to, view)} UTC</span>
      </div>
      <dl className="facts use">
        <div>
          <dt>Attempts</dt>
          <dd>
            {number(usage.attempts)} <small>of {number(plan.includedAttempts)} included</small>
          </dd>
          <dd className="sub">
            <ProgressBar
              isMeter
              size="small"
              whole={whole}
              label={`${percent(usage.attempts, whole)} of this month’s attempts`}
              parts={[
                { value: Math.min(usage.attempts, whole), signal: usage.attempts > whole * 0.9 ? 'warn' : 'run' },
              ]}
            />
          </dd>
          <dd className="sub">
            {projected !== null && `about ${number(projected)} by the end of the month; `}
            {plan.monthlyAttempts === null
              ? 'extra attempts are never refused'
              : `at ${number(plan.monthlyAttempts)}, publishing and replays are refused`}
          </dd>
        </div>
        <div>
          <dt>Queues</dt>
          <dd>
            {number(usage.queues)} {plan.queues !== null && <small>of {number(plan.queues)}</small>}
          </dd>
          <dd className="sub">
            {plan.queues === null ? `each takes at least 1 of ${number(MAX_SLOTS)} slots` : 'at the same time'}
          </dd>
        </div>
        <div>
          <dt>Slots of all queues</dt>
          <dd>
            {number(usage.concurrency)} <small>of {number(MAX_SLOTS)}</small>
          </dd>
          <dd className="sub">{number(usage.inFlight)} in flight now</dd>
        </div>
      </dl>
    </section>
  );
}

/** Sum of `concurrency` over the queues of an account, as the schema says. */
const MAX_SLOTS = 1000;

function Limits({ plan }: { plan: Account['plan'] }) {
  const rows = [
    ['Attempts of a job', `at most ${number(plan.maxAttempts)}`],
    ['Holds of a job', `at most ${number(plan.maxDefers)}`],
    ['Lists reach back', seconds(plan.windowSeconds)],
  ] as const;
  return (
    <section className="sec" aria-labelledby="limits">
      <div className="sec-head">
        <h2 id="limits">Limits of the plan</h2>
      </div>
      <dl className="pairs">
        {rows.map(([label, value]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
      </dl>
    </section>
  );
}
