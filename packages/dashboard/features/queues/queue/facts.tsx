import { useMemo } from 'preact/compat';
import { Link } from 'wouter-preact';
import { attemptsPath, deadPath, jobsOfQueue, jobsPath, receiverPath } from '../../../../query/filter/links.ts';
import { answersOf } from '../../../../query/words/answers.ts';
import { count, many, number, percent, seconds, span } from '../../../../query/words/format.ts';
import { serverNow } from '../../../base/clock.ts';
import { useView } from '../../../base/time.ts';
import { Time } from '../../../parts/time.tsx';
import type { QueueOfPage } from '../operations/queue.ts';
import { Fact } from '../parts/fact.tsx';

/** Six figures; each links to what it counts: jobs, attempts or dead letters. */
export function Facts({ queue }: { queue: QueueOfPage }) {
  return (
    <dl className="facts queue-facts">
      <InFlight queue={queue} />
      <OldestDue queue={queue} />
      <RateLimit queue={queue} />
      <Answers queue={queue} />
      <DeadLetters queue={queue} />
      <DeliversTo queue={queue} />
    </dl>
  );
}

function InFlight({ queue: { name, inFlight, concurrency } }: { queue: QueueOfPage }) {
  const busy = inFlight ?? 0;
  const share = Math.min(1, busy / concurrency);
  const jobs = jobsPath(jobsOfQueue(name, { word: 'state', value: ['processing', 'awaiting-ack'] }));
  return (
    <Fact
      label="In flight"
      sub={
        <span className={share === 1 ? 'slot-bar full' : 'slot-bar'} aria-hidden="true">
          <i style={{ inlineSize: `${share * 100}%` }} />
        </span>
      }
    >
      <Link href={jobs}>{number(busy)}</Link> <small>of {many(concurrency, 'slot')}</small>
    </Fact>
  );
}

/** From this age on, the oldest due job is shown as trouble. */
const LATE_SECONDS = 60;

function OldestDue({ queue: { name, oldestDueSeconds, depth } }: { queue: QueueOfPage }) {
  const { now } = useView();
  // The server says an age. It grows until the server says another one.
  const since = useMemo(
    () => (oldestDueSeconds === null ? null : serverNow() - oldestDueSeconds * 1000),
    [oldestDueSeconds],
  );
  const due = depth?.due ?? 0;
  const jobs = jobsPath(jobsOfQueue(name, { word: 'state', value: ['due'] }));
  const age = since === null ? 0 : Math.max(0, now - since);
  return (
    <Fact
      label="Oldest due"
      sub={due === 0 ? 'no job is due' : <Link href={jobs}>{many(due, 'job is', 'jobs are')} due</Link>}
    >
      {since === null ? (
        'None'
      ) : (
        <span className={age > LATE_SECONDS * 1000 ? 'trouble' : undefined}>{age < 1000 ? 'now' : span(age)}</span>
      )}
    </Fact>
  );
}

function RateLimit({ queue: { rateLimitMax, rateLimitWindow, rateWindow } }: { queue: QueueOfPage }) {
  const { now } = useView();
  if (rateLimitMax === null) {
    return (
      <Fact label="Rate limit" sub="only concurrency applies">
        None
      </Fact>
    );
  }
  const left = rateWindow === null ? 0 : Date.parse(rateWindow.resetsAt) - now;
  const used = rateWindow === null || left <= 0 ? 0 : rateWindow.used;
  return (
    <Fact
      label="Rate limit"
      sub={left > 0 ? `per ${seconds(rateLimitWindow)}, next in ${span(left)}` : `per ${seconds(rateLimitWindow)}`}
    >
      <span className={used >= rateLimitMax ? 'worry' : undefined}>{number(used)}</span>{' '}
      <small>of {number(rateLimitMax)} used</small>
    </Fact>
  );
}

function Answers({ queue: { name, health } }: { queue: QueueOfPage }) {
  const { all, good, others } = answersOf(health);
  if (all === 0) {
    return (
      <Fact label="Answers, last hour" sub="no attempt ended">
        None
      </Fact>
    );
  }
  const link = (code: string) => attemptsPath({ queue: name, code, since: '1h', order: 'latest' });
  const title = others.map(({ label, count: n }) => `${number(n)} ${label}`).join(', ');
  return (
    <div title={title === '' ? undefined : `Not 2xx: ${title}`}>
      <dt>Answers, last hour</dt>
      <dd>
        <Link href={link('2xx')}>{percent(good, all)}</Link> <small>2xx</small>
      </dd>
      <dd className="sub">
        {others.length === 0
          ? `all ${number(all)} of them`
          : others.slice(0, 2).map(({ label, count: n, code }, index) => (
              <span key={label}>
                {index > 0 && ', '}
                <Link href={link(code)}>
                  {number(n)} {/^\d/.test(label) && '× '}
                  {label}
                </Link>
              </span>
            ))}
        {others.length > 2 && ', …'}
      </dd>
    </div>
  );
}

/** So many groups are fetched. If there are more, their sum is a lower bound. */
const MAX_GROUPS = 100;

function DeadLetters({ queue: { name, deaths } }: { queue: QueueOfPage }) {
  const all = deaths.reduce((sum, group) => sum + group.count, 0);
  const last = deaths
    .map(({ lastSeen }) => lastSeen)
    .sort()
    .at(-1);
  return (
    <Fact label="Dead letters" sub={last === undefined ? 'none to replay' : <>last one {<Time at={last} />}</>}>
      <Link href={deadPath(name)}>{count(all, deaths.length < MAX_GROUPS)}</Link>
    </Fact>
  );
}

function DeliversTo({ queue: { webhookUrl, mode, ackTimeout } }: { queue: QueueOfPage }) {
  const [, host = webhookUrl, path = ''] = webhookUrl.match(/^https?:\/\/(?:[^/@]*@)?([^/?#]+)(.*)$/) ?? [];
  return (
    <div title={webhookUrl}>
      <dt>Delivers to</dt>
      <dd className="mono">
        <Link href={receiverPath(host)}>{host}</Link>
        <wbr />
        {path}
      </dd>
      <dd className="sub">
        {mode === 'ACK' ? `a worker reports within ${seconds(ackTimeout)}` : 'a 2xx completes the job'}
      </dd>
    </div>
  );
}
