import { useQuery } from '@tanstack/preact-query';
import { type ReactNode, useState } from 'preact/compat';
import { Link } from 'wouter-preact';
import { many, number } from '../../../query/words/format.ts';
import { ROLE_FOR_MEMBERS, wordOfRole } from '../../../query/words/rights.ts';
import { request } from '../../api/client.ts';
import { outcomeOf } from '../../api/outcome.ts';
import { queryClient } from '../../api/query.ts';
import { May } from '../../api/rights.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { Only } from '../../parts/page/only.tsx';
import { Page } from '../../parts/page/page.tsx';
import { endOwnSession } from '../../parts/page/sign-out.ts';
import { Pager } from '../../parts/pager.tsx';
import { Empty, Failure, Skeleton } from '../../parts/states.tsx';
import { Table } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { toast, toastFailure } from '../../parts/toast.tsx';
import { endAllLead, endAllTitle, headOfMembers, namesOf } from './model/people.ts';
import { EndSessionsOfMember, type MemberRow, Members as MembersOperation } from './operations.ts';
import { usePaged } from './use-paged.ts';

const TITLE = 'Members';
const CRUMBS = [{ label: 'Settings' }, { label: TITLE }];

export function Members({ tabs }: { tabs: ReactNode }) {
  return (
    <Only
      needs={ROLE_FOR_MEMBERS}
      what="see the members"
      title={TITLE}
      crumbs={CRUMBS}
      top={tabs}
      lead={<Link href="/settings/sessions">Your own sessions</Link>}
    >
      <MemberList tabs={tabs} />
    </Only>
  );
}

function MemberList({ tabs }: { tabs: ReactNode }) {
  const { options, pathTo } = usePaged(MembersOperation, '/settings/members');
  const result = useQuery(options);
  const [ending, setEnding] = useState<MemberRow | null>(null);
  const list = result.data?.members;
  const mine = result.data?.me.session?.member?.id ?? null;
  return (
    <Page
      title={TITLE}
      crumbs={CRUMBS}
      h1={list === undefined ? TITLE : headOfMembers(list, list.nodes)}
      lead="The role of a person comes from the sign-in provider (OIDC_ROLES), at each sign-in."
    >
      {tabs}
      <Failure result={result} what="The list of members" />
      {list === undefined && result.isLoading && <Skeleton lines={4} />}
      {list?.nodes.length === 0 && (
        <Empty title="No person has signed in" icon="user">
          <p>People appear here after they sign in with an OpenID provider. Keys and sign-in links have no member.</p>
        </Empty>
      )}
      {list !== undefined && list.nodes.length > 0 && (
        <div className={result.isPlaceholderData ? 'dim' : undefined}>
          <MemberTable members={list.nodes} mine={mine} onEnd={setEnding} />
          <Pager info={list.pageInfo} pathTo={pathTo} />
        </div>
      )}
      {ending !== null && <EndDialog member={ending} isMe={ending.id === mine} onClose={() => setEnding(null)} />}
    </Page>
  );
}

function MemberTable({
  members,
  mine,
  onEnd,
}: {
  members: readonly MemberRow[];
  mine: string | null;
  onEnd: (member: MemberRow) => void;
}) {
  return (
    <Table
      className="cards people"
      caption="Members, the newest first"
      columns={['Person', 'Role', 'Last seen', ['Sessions', 'n']]}
    >
      {members.map((member) => {
        const { first, second } = namesOf(member);
        return (
          <tr key={member.id}>
            <td className="c1">
              <span className="strong">{first}</span> {second !== null && <span className="q">{second}</span>}{' '}
              {member.id === mine && <span className="tag">you</span>}
            </td>
            <td className="c3">
              {wordOfRole(member.role)}
              {', '}
              <span className="q">{member.mayViewPayloads ? 'sees payloads' : 'sees no payloads'}</span>
            </td>
            <td className="c4 q">
              <Ago at={member.lastSeenAt} />
            </td>
            <td className="n c2">
              {member.sessionCount === 0 ? 'none open' : `${number(member.sessionCount)} open`}{' '}
              {member.sessionCount > 0 && (
                <May mutation="endSessionsOfMember">
                  <button type="button" className="btn tiny" onClick={() => onEnd(member)}>
                    End…<span className="sr"> the sessions of {first}</span>
                  </button>
                </May>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

function EndDialog({ member, isMe, onClose }: { member: MemberRow; isMe: boolean; onClose: () => void }) {
  const { first } = namesOf(member);
  const end = async () => {
    const outcome = outcomeOf((await request(EndSessionsOfMember, { id: member.id })).endSessionsOfMember);
    onClose();
    if (!outcome.ok) return toastFailure(`Not ended: ${outcome.message}`);
    if (isMe) return endOwnSession();
    toast({ text: `${many(outcome.value.ended, 'session')} of ${first} ended.` });
    for (const name of ['Members', 'Sessions']) void queryClient.invalidateQueries({ queryKey: [name] });
  };
  return (
    <Dialog
      title={endAllTitle(first, member.sessionCount)}
      lead={endAllLead(isMe)}
      action={{
        label: isMe ? 'End them, and sign out' : 'End them',
        isDanger: true,
        run: () => void end().catch((error: Error) => toastFailure(`Not ended: ${error.message}`)),
      }}
      onClose={onClose}
    />
  );
}
