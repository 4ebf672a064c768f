import { count, many } from '../../../../query/words/format.ts';

/** Members and sessions: who has signed in to the dashboard, and from where. */

interface Total {
  totalCount: number;
  totalCountExact: boolean;
}

interface MemberName {
  name: string | null;
  email: string | null;
  subject: string;
}

/** The name of a member, and a second line that tells namesakes apart; null if there is nothing more. */
export function namesOf({ name, email, subject }: MemberName): { first: string; second: string | null } {
  const [first = subject, second = null] = [name, email].filter((one) => one !== null);
  return { first, second };
}

/** "4 people have signed in. 2 are signed in now." The second part only if the page has all of them. */
export function headOfMembers(
  { totalCount, totalCountExact }: Total,
  members: readonly { sessionCount: number }[],
): string {
  if (totalCount === 0) return 'No member has signed in yet.';
  const first = `${count(totalCount, totalCountExact)} ${totalCount === 1 ? 'person has' : 'people have'} signed in.`;
  if (members.length < totalCount) return first;
  const now = members.filter(({ sessionCount }) => sessionCount > 0).length;
  return `${first} ${now === 0 ? 'None' : now} ${now === 1 ? 'is' : 'are'} signed in now.`;
}

/** "5 sessions are open." For people who see only their own: "You have 2 open sessions." */
export function headOfSessions({ totalCount, totalCountExact }: Total, isAll: boolean): string {
  if (totalCount === 0) return 'No session is open.';
  if (totalCount === 1) return isAll ? '1 session is open.' : 'You have 1 open session.';
  const number = count(totalCount, totalCountExact);
  return isAll ? `${number} sessions are open.` : `You have ${number} open sessions.`;
}

interface Holder {
  label: string;
  isCurrent: boolean;
  member: { name: string | null } | null;
  apiKey: { name: string | null } | null;
}

/** The owner of a session: a person, a key, or the operator with a sign-in link. */
export function holderOf({ label, member, apiKey }: Holder): string {
  if (member !== null) return member.name ?? label;
  return apiKey === null ? 'sign-in link' : (apiKey.name ?? label);
}

/** For the dialog: what follows when the session ends. */
export function endLead(session: Holder): string {
  if (session.isCurrent) return 'It is the session of this page: you will be signed out.';
  if (session.apiKey !== null) return 'Its key can open a new one. To keep it out, revoke the key instead.';
  if (session.member !== null) return 'The person can sign in again. To prevent that, remove the role at the provider.';
  return 'A new sign-in link can be printed on the server.';
}

/** For the dialog: what follows when all sessions of a member end. */
export function endAllLead(isMe: boolean): string {
  const again = 'The person can sign in again. To prevent that, remove the role at the provider first.';
  return isMe ? 'These are your own sessions: you will be signed out.' : again;
}

export const endAllTitle = (who: string, sessions: number) => `End ${many(sessions, 'session')} of ${who}?`;
