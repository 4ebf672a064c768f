import './receivers.css';
import { useQuery } from '@tanstack/preact-query';
import { Link, useSearchParams } from 'wouter-preact';
import { receiverPath } from '../../../../query/filter/links.ts';
import { toSearch } from '../../../../query/filter/search.ts';
import { NONE, number, took } from '../../../../query/words/format.ts';
import { query } from '../../../api/query.ts';
import { useShell } from '../../../api/server.ts';
import { useView } from '../../../base/time.ts';
import { Page } from '../../../parts/page/page.tsx';
import { useWalk } from '../../../parts/page/walk.ts';
import { Empty, Failure, Skeleton } from '../../../parts/states.tsx';
import { Table } from '../../../parts/table.tsx';
import {
  failingOf,
  headlineOfReceivers,
  lastAccepted,
  notTakenText,
  partText,
  queuesText,
  worstReceivers,
} from '../model/receiver.ts';
import { type ReceiverRow, Receivers } from '../operations/receivers.ts';

const CRUMBS = [{ label: 'Queues', to: '/queues' }, { label: 'Receivers' }];
/** Receivers of one page. */
const PAGE = 100;
/** The numbers are those of spans of five minutes. */
const EVERY_MS = 60_000;

/** Which host fails? Receivers, with all that is delivered to each. */
export default function ReceiverList() {
  const [params] = useSearchParams();
  const after = params.get('after');
  const result = useQuery({ ...query(Receivers, { after }), refetchInterval: EVERY_MS });
  const receivers = result.data?.receivers;
  const isLast = receivers !== undefined && receivers.length < PAGE;
  useWalk();
  const h1 = receivers === undefined ? 'Receivers' : headlineOfReceivers(receivers, isLast && after === null);
  return (
    <Page title={h1.replace(/\.$/, '')} crumbs={CRUMBS} h1={h1} lead={partText(useShell()?.queues.totalCount)}>
      <Failure result={result} what="The list of receivers" />
      {receivers === undefined && <Skeleton lines={6} />}
      {receivers?.length === 0 && (
        <Empty title="No receivers yet" icon="queues">
          <p>A receiver is the host of a queue’s webhook.</p>
        </Empty>
      )}
      {receivers !== undefined && receivers.length > 0 && <Rows receivers={worstReceivers(receivers)} />}
      {receivers !== undefined && (after !== null || !isLast) && (
        <nav className="pager" aria-label="Pages">
          <span>Pages of {PAGE}, by name.</span>
          <span className="end">
            {after !== null && (
              <Link className="btn tiny" href="/receivers">
                First page
              </Link>
            )}
            {!isLast && (
              <Link className="btn tiny" href={`/receivers${toSearch({ after: receivers.at(-1)?.host ?? null })}`}>
                Next page
              </Link>
            )}
          </span>
        </nav>
      )}
    </Page>
  );
}

function Rows({ receivers }: { receivers: readonly ReceiverRow[] }) {
  const view = useView();
  return (
    <Table
      className="cards fixed receivers"
      caption="Receivers"
      columns={[
        'Receiver',
        ['Queues', 'queues-of'],
        { label: 'Failing', className: 'n', title: 'Failing queues, also by rejected signatures' },
        { label: 'Attempts', className: 'n lo1', title: 'In the last hour' },
        { label: 'Rejected', className: 'n', title: 'Failed or deferred, of the attempts in the last hour' },
        { label: 'p95', className: 'n lo1', title: '5 % of deliveries in the last hour took longer' },
        { label: 'Last 2xx', className: 'n lo1 span-of', title: 'Of queues without ack mode' },
      ]}
    >
      {receivers.map((receiver) => {
        const { host, health } = receiver;
        const failing = failingOf(health);
        const p95 = health?.duration.p95 ?? null;
        return (
          <tr key={host}>
            <td className="c1">
              <span className="cut">
                <Link className="name rowlink" href={receiverPath(host)} title={host}>
                  {host}
                </Link>
              </span>
            </td>
            <td className="c3">{queuesText(receiver)}</td>
            <td className={`n c2 ${failing > 0 ? 'trouble' : 'q3'}`}>
              {number(failing)}
              <span className="unit"> failing</span>
            </td>
            <td className="n lo1">{number(health?.attempts ?? 0)}</td>
            <td className="n c4">
              {notTakenText(health)}
              <span className="unit"> rejected</span>
            </td>
            <td className="n lo1">{p95 === null ? NONE : took(p95)}</td>
            <td className="n lo1 nb">{lastAccepted(receiver, view).text}</td>
          </tr>
        );
      })}
    </Table>
  );
}
