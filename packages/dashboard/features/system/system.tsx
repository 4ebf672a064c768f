import { queuePath } from '../../../query/filter/links.ts';
import { Table } from '../../parts/table.tsx';
import './system.css';
import { queryOptions, useQuery } from '@tanstack/preact-query';
import { Link } from 'wouter-preact';
import { ago, minute, number, seconds, span, time, took } from '../../../query/words/format.ts';
import { shortId } from '../../../query/words/job-id.ts';
import { request } from '../../api/client.ts';
import { useIsPaused } from '../../api/live/live.ts';
import { learnServerTime } from '../../base/clock.ts';
import { useView } from '../../base/time.ts';
import { Icon } from '../../parts/icon.tsx';
import { Page } from '../../parts/page/page.tsx';
import { ProgressBar } from '../../parts/progress.tsx';
import { Failure, Skeleton } from '../../parts/states.tsx';
import { isSeen } from '../../words/seen.ts';
import { headOfSystem, lagRows, latest, snapshotRow } from './model/system.ts';
import { type SystemData, System as SystemOperation } from './operations.ts';

const AGAIN_MS = 5000;

const systemQuery = queryOptions({
  queryKey: ['System'],
  queryFn: async ({ signal }): Promise<SystemData & { tookMs: number }> => {
    const sentAt = performance.now();
    const data = await request(SystemOperation, {}, signal);
    const receivedAt = performance.now();
    learnServerTime(data.server.now, sentAt, receivedAt);
    return { ...data, tookMs: receivedAt - sentAt };
  },
});

export default function System() {
  const view = useView();
  const isPaused = useIsPaused();
  const result = useQuery({ ...systemQuery, refetchInterval: isPaused ? false : AGAIN_MS });
  const { data } = result;
  const head = data === undefined ? null : headOfSystem(data.instances, view.now);
  return (
    <Page
      title="System"
      crumbs={[{ label: 'System' }]}
      sign={head === null ? { icon: 'system', signal: 'idle' } : { icon: head.icon, signal: head.signal }}
      h1={head?.h1 ?? 'System'}
      lead={head?.lead}
    >
      <Failure result={result} what="The system" />
      {data === undefined ? (
        result.isLoading && <Skeleton lines={5} />
      ) : (
        <>
          <Facts data={data} />
          {data.instances.length > 0 && <Processes data={data} />}
          <Background server={data.server} />
          <Times data={data} />
        </>
      )}
    </Page>
  );
}

function Facts({ data: { server, queues, releases, tookMs } }: { data: SystemData & { tookMs: number } }) {
  const view = useView();
  const late = latest(queues.nodes);
  const run = releases.find(({ version }) => version === server.version);
  const lateSeconds = late?.oldestDueSeconds ?? 0;
  return (
    <section aria-label="Facts">
      <dl className="facts">
        <div>
          <dt>Oldest due job</dt>
          <dd className={lateSeconds > 60 ? 'worry' : undefined}>
            {late === null ? 'None' : span(lateSeconds * 1000)}
          </dd>
          <dd className="sub">
            {late !== null && (
              <>
                in{' '}
                <Link className="link" href={queuePath(late.name)}>
                  {late.name}
                </Link>
              </>
            )}
            {queues.totalCount > queues.nodes.length && ' of the first 100 queues'}
          </dd>
        </div>
        <div>
          <dt>Response time</dt>
          <dd>{took(tookMs)}</dd>
          <dd className="sub">network, API and database</dd>
        </div>
        <div>
          <dt>Server time</dt>
          <dd>{time(view.now, view)}</dd>
          <dd className="sub">{clockSentence(view.now - Date.now())}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd>{server.version}</dd>
          <dd className="sub">
            {run !== undefined && `since ${minute(Date.parse(run.at), view)}, `}
            {run?.before != null && `after ${run.before}, `}
            environment {server.environment}
          </dd>
        </div>
      </dl>
    </section>
  );
}

/** Countdowns are right in any case; a clock that is off explains times in logs that do not agree. */
function clockSentence(offsetMs: number): string {
  if (Math.abs(offsetMs) < 2000) return 'same as this computer';
  return `this computer is ${span(Math.abs(offsetMs))} ${offsetMs > 0 ? 'behind' : 'ahead'}`;
}

const ROLES: Readonly<Record<string, string>> = {
  all: 'API and worker',
  api: 'API',
  worker: 'Worker',
};

function Processes({ data: { instances } }: { data: SystemData }) {
  const view = useView();
  const sorted = [...instances].sort((a, b) => a.startedAt.localeCompare(b.startedAt));
  return (
    <section className="sec" aria-labelledby="processes">
      <div className="sec-head">
        <h2 id="processes">Processes</h2>
        <span className="small q">refreshed every 5 s</span>
      </div>
      <Table
        className="cards processes"
        columns={['Process', 'Role', 'Version', 'Load', ['Runs for', 'lo1 n'], ['Last seen', 'n']]}
      >
        {sorted.map((one) => {
          const isHere = isSeen(one, view.now);
          return (
            <tr key={one.id} className={isHere ? undefined : 'gone'}>
              <td className="c1">
                <span className={`st ${isHere ? 'ok' : 'bad'}`}>
                  <Icon name={isHere ? 'done' : 'failed'} />
                  <span className="mono">{shortId(one.id)}</span>
                  {!isHere && <span className="tag bad">silent</span>}
                </span>
              </td>
              <td className="c3">{ROLES[one.role] ?? one.role}</td>
              <td className="c4 mono">{one.version}</td>
              <td className="c5">
                {one.role === 'api' ? (
                  <span className="q3">delivers nothing</span>
                ) : (
                  <span className="load">
                    <ProgressBar
                      isMeter
                      size="small"
                      whole={one.capacity}
                      label={`Load of ${shortId(one.id)}`}
                      parts={[{ value: one.inFlight, signal: one.inFlight >= one.capacity * 0.9 ? 'warn' : 'run' }]}
                    />
                    {number(one.inFlight)} of {number(one.capacity)}
                  </span>
                )}
              </td>
              <td className="lo1 n q">{span(view.now - Date.parse(one.startedAt))}</td>
              <td className="c2 n q">{ago(Date.parse(one.lastSeenAt), view)}</td>
            </tr>
          );
        })}
      </Table>
    </section>
  );
}

/** These numbers are of all accounts, so only the operator's account sees them. */
function Background({ server: { lags, snapshots } }: Pick<SystemData, 'server'>) {
  if (lags === null || snapshots === null) return null;
  return (
    <section className="sec" aria-labelledby="background">
      <div className="sec-head">
        <h2 id="background">Background work</h2>
        <span className="small q">none of it delays deliveries</span>
      </div>
      <dl className="pairs times">
        {[...lagRows(lags), snapshotRow(snapshots)].map(({ label, value, isLate, note }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <b className={isLate ? 'strong worry' : 'strong'}>{value}</b> <span className="q">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Times({ data: { server, account } }: { data: SystemData }) {
  const rows = [
    [
      'Jobs are kept for',
      seconds(server.retentionSeconds),
      'after they were published, with their attempts and answers',
    ],
    ['Lists reach back', seconds(account.plan.windowSeconds), 'by the plan of this account'],
    ['A job can be delivered for', seconds(server.lifetimeSeconds), 'after it first becomes due; then it dies'],
    ['A receiver must answer within', seconds(server.webhookTimeoutSeconds), 'or the attempt fails'],
  ] as const;
  return (
    <section className="sec" aria-labelledby="times">
      <div className="sec-head">
        <h2 id="times">Retention and time limits</h2>
      </div>
      <dl className="pairs times">
        {rows.map(([label, value, note]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <b className="strong">{value}</b> <span className="q">{note}</span>
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
