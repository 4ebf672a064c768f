import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useState } from 'preact/compat';
import { hasRole } from '../../../query/words/rights.ts';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { useRights } from '../../api/rights.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Page } from '../../parts/page/page.tsx';
import { endOwnSession } from '../../parts/page/sign-out.ts';
import { Pager } from '../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Table, unseen } from '../../parts/table.tsx';
import { Ago, Time } from '../../parts/time.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { browserOf } from '../../words/browser.ts';
import { endLead, headOfSessions, holderOf } from './model/people.ts';
import { EndSession, type SessionRow, Sessions as SessionsOperation } from './operations.ts';
import { usePaged } from './use-paged.ts';

export function Sessions({ tabs }: { tabs: ReactNode }) {
  const isAll = hasRole(useRights(), 'ADMIN');
  const { options, pathTo } = usePaged(SessionsOperation, '/settings/sessions');
  const result = useQuery(options);
  const [ending, setEnding] = useState<SessionRow | null>(null);
  const list = result.data?.sessions;
  return (
    <Page
      title="Sessions"
      crumbs={[{ label: 'Settings' }, { label: 'Sessions' }]}
      h1={list === undefined ? 'Sessions' : headOfSessions(list, isAll)}
      lead="A session is a sign-in to this dashboard. Once ended, it is refused everywhere within 1 second."
    >
      {tabs}
      <Failure result={result} what="The list of sessions" />
      {list === undefined && result.isLoading && <Skeleton lines={4} />}
      {list?.nodes.length === 0 && <Empty title="No session is open" icon="user" />}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined}>
          <SessionTable sessions={list.nodes} onEnd={setEnding} />
          <Pager info={list.pageInfo} pathTo={pathTo} />
        </div>
      )}
      {ending !== null && <EndDialog session={ending} onClose={() => setEnding(null)} />}
    </Page>
  );
}

function SessionTable({ sessions, onEnd }: { sessions: readonly SessionRow[]; onEnd: (session: SessionRow) => void }) {
  return (
    <Table
      className="cards people"
      caption="Open sessions, the newest first"
      columns={['User', 'Browser', ['Since', 'lo1'], 'Last used', 'Expires', unseen('Actions')]}
    >
      {sessions.map((session) => (
        <tr key={session.id}>
          <td className="c1">
            <span className="st">
              <Icon name={session.apiKey === null ? 'user' : 'key'} />
              {holderOf(session)}
            </span>{' '}
            {holderOf(session) !== session.label && <span className="q">{session.label}</span>}{' '}
            {session.isCurrent && <span className="tag">this session</span>}
          </td>
          <td className="c3 q" title={session.userAgent ?? undefined}>
            {browserOf(session.userAgent)}
          </td>
          <td className="lo1 q">
            <Ago at={session.createdAt} />
          </td>
          <td className="c4 q">
            <Ago at={session.lastUsedAt} />
          </td>
          <td className="c5 q">
            <span className="unit">expires </span>
            <Time at={session.expiresAt} />
          </td>
          <td className="n c2">
            <button type="button" className="btn tiny" onClick={() => onEnd(session)}>
              End…<span className="sr"> the session of {holderOf(session)}</span>
            </button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function EndDialog({ session, onClose }: { session: SessionRow; onClose: () => void }) {
  const { id, isCurrent } = session;
  const who = holderOf(session);
  const end = async () => {
    if (isCurrent) return endOwnSession();
    const outcome = outcomeOf((await request(EndSession, { id })).endSession);
    onClose();
    if (!outcome.ok) return toastFailure(`Not ended: ${outcome.message}`);
    toast({ text: `A session of ${who} is ended.` });
    for (const name of ['Members', 'Sessions']) void queryClient.invalidateQueries({ queryKey: [name] });
  };
  return (
    <Dialog
      title={isCurrent ? 'End this session?' : `End the session of ${who}?`}
      lead={endLead(session)}
      action={{
        label: isCurrent ? 'End it, and sign out' : 'End it',
        isDanger: true,
        run: () => void end().catch((error: Error) => toastFailure(`Not ended: ${error.message}`)),
      }}
      onClose={onClose}
    />
  );
}
