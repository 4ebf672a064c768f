import type { Author } from '../domain/audit.ts';
import { SESSION_LIMITS, type SessionHolder, TooManySignIns } from '../domain/session.ts';
import { isUnexpired } from './accounts.ts';
import { actorJson, audit } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';
import type { PrismaClient } from './connection/prisma.ts';
import { exclusively } from './connection/transactions.ts';
import type { Prisma } from './generated/client.ts';
import { OPERATORS_ACCOUNT } from './operator-account.ts';

/** A session with its account and its holder. */
export interface FoundSession {
  id: string;
  expiresAt: Date;
  account: { id: string; name: string; plan: string; isSuspended: boolean; requestsPerSecond: number | null };
  key: { id: string; name: string | null; prefix: string; lastFour: string } | null;
  member: MemberFacts | null;
  /** True when the last recorded use of the session is more than a minute old. */
  isUseUnnoted: boolean;
}

interface MemberFacts {
  id: string;
  issuer: string;
  subject: string;
  name: string | null;
  email: string | null;
  role: string;
  mayViewPayloads: boolean;
}

/** @returns SQL: whether the session `s` with the key `key` of a left join is in force */
const IS_IN_FORCE = `s.expires_at > jobferry_now() and (s.api_key_id is null or key.revoked_at is null and ${isUnexpired('key')})`;

const BY_HASH: Statement = {
  name: 'session-by-hash',
  text: `
    select s.id, s.expires_at as "expiresAt",
           json_build_object('id', account.id, 'name', account.name, 'plan', account.plan,
                             'isSuspended', account.suspended_at is not null,
                             'requestsPerSecond', account.requests_per_second) as account,
           case when key.id is not null
                then json_build_object('id', key.id, 'name', key.name, 'prefix', key.prefix, 'lastFour', key.last_four)
           end as key,
           case when member.id is not null
                then json_build_object('id', member.id, 'issuer', member.issuer, 'subject', member.subject,
                                       'name', member.name, 'email', member.email, 'role', member.role,
                                       'mayViewPayloads', member.may_view_payloads) end as member,
           s.last_used_at < jobferry_now() - interval '1 minute' as "isUseUnnoted"
      from session s join account on account.id = s.account_id
                     left join api_key key on key.id = s.api_key_id
                     left join member on member.id = s.member_id
     where s.hash = $1 and ${IS_IN_FORCE}`,
};

/** @returns null when there is no such session, it has expired, or its API key was revoked */
export async function sessionByHash(db: Database, hash: string): Promise<FoundSession | null> {
  return db.one<FoundSession>(BY_HASH, [hash]);
}

const NOTE_USE: Statement = {
  name: 'note-session-use',
  text: `update session set last_used_at = jobferry_now()
          where id = $1 and last_used_at < jobferry_now() - interval '1 minute'`,
};

const NOTE_MEMBER: Statement = {
  name: 'note-member-seen',
  text: `update member set last_seen_at = s.last_used_at from session s
          where s.id = $1 and member.id = s.member_id and member.last_seen_at < s.last_used_at`,
};

/** Records that the session, and its member, are here, at most once a minute. */
export async function noteSessionUse(db: Database, sessionId: string): Promise<void> {
  await db.query(NOTE_USE, [sessionId]);
  // Not in the same statement: a sign-in locks the member before its sessions, and this one would lock it after.
  await db.query(NOTE_MEMBER, [sessionId]);
}

// Ids of keys and sessions are different, because all ids come from one sequence.
const IN_FORCE: Statement = {
  name: 'credentials-in-force',
  text: `
    select id from api_key where id = any ($1) and revoked_at is null and ${isUnexpired('api_key')}
    union all
    select s.id from session s left join api_key key on key.id = s.api_key_id
     where s.id = any ($1) and ${IS_IN_FORCE}`,
};

/** @returns those of the API keys and sessions that exist and are neither revoked nor expired */
export async function credentialsInForce(db: Database, ids: readonly string[]): Promise<Set<string>> {
  return new Set((await db.query<{ id: string }>(IN_FORCE, [ids])).map(({ id }) => id));
}

export interface NewSession {
  hash: string;
  holder: SessionHolder;
  userAgent: string | null;
  maxMs: number;
}

/**
 * Stores a new session of an API key. The key's and the account's oldest sessions end when they have too many.
 * @returns null when the key was revoked, which a look-up of the second before may not know
 */
export async function createSession(
  prisma: PrismaClient,
  by: Author,
  session: NewSession,
): Promise<{ expiresAt: Date } | null> {
  return exclusively(prisma, by.accountId, async (tx) => {
    const key = await tx.$queryRaw<unknown[]>`
      select id from api_key where id = ${session.holder.apiKeyId} and revoked_at is null`;
    return key.length === 0 ? null : insertSession(tx, by, session);
  });
}

/** Must be called in a transaction that locks the account. @throws TooManySignIns */
export async function insertSession(
  tx: Prisma.TransactionClient,
  { accountId, actor }: Author,
  { hash, holder, userAgent, maxMs }: NewSession,
): Promise<{ expiresAt: Date }> {
  const { memberId, apiKeyId } = holder;
  await refuseTooMany(tx, { accountId, actor });
  await tx.$executeRaw`
    delete from session where id in (
      (select id from session where account_id = ${accountId} and member_id is not distinct from ${memberId}
                                and api_key_id is not distinct from ${apiKeyId}
        order by id desc offset ${SESSION_LIMITS.ofHolder - 1})
      union all
      (select id from session where account_id = ${accountId} order by id desc offset ${SESSION_LIMITS.ofAccount - 1}))`;
  const [created] = await tx.$queryRaw<{ id: string; expires_at: Date }[]>`
    insert into session (account_id, hash, member_id, api_key_id, user_agent, expires_at)
    values (${accountId}, ${hash}, ${memberId}, ${apiKeyId}, ${userAgent},
            jobferry_now() + ${maxMs}::float8 * interval '1 ms')
    returning id, expires_at`;
  if (created === undefined) throw new Error('a session was not stored');
  const target = { targetType: 'session', targetId: created.id, targetName: actor.label } as const;
  await audit(tx, { accountId, actor }, { action: 'session.create', ...target, after: { userAgent } });
  return { expiresAt: created.expires_at };
}

/** Counts by the audit log, because sessions can be ended, and other processes start some, too. */
async function refuseTooMany(tx: Prisma.TransactionClient, { accountId, actor }: Author): Promise<void> {
  const recent = await tx.$queryRaw<unknown[]>`
    select id from audit_entry
     where account_id = ${accountId} and id >= jobferry_first_id(jobferry_now() - interval '1 minute')
       and action = 'session.create' and actor_type = ${actor.type} and actor_id is not distinct from ${actor.id}
     limit ${SESSION_LIMITS.signInsPerMinute}`;
  if (recent.length >= SESSION_LIMITS.signInsPerMinute) throw new TooManySignIns();
}

// The label of the holder, for the audit log: people cannot recognise a session by its id.
const END: Statement = {
  name: 'end-session',
  text: `
    with ended as (
      delete from session where id = $1 and account_id = $2
      returning id, account_id, member_id, api_key_id
    )
    select ended.id, jobferry_audit(ended.account_id, $3::json, 'session.end', 'session', ended.id,
             coalesce(member.email, member.name, member.subject, key.name || ' (' || key.prefix || '…' || key.last_four || ')',
                      key.prefix || '…' || key.last_four, 'operator'))
      from ended left join member on member.id = ended.member_id left join api_key key on key.id = ended.api_key_id`,
};

/** @returns false when the account has no such session */
export async function endSession(db: Database, by: Author, sessionId: string): Promise<boolean> {
  return (await db.query(END, [sessionId, by.accountId, actorJson(by.actor)])).length > 0;
}

const END_OF_MEMBER: Statement = {
  name: 'end-sessions-of-member',
  text: `
    with ended as (
      delete from session where member_id = $1 and account_id = $2 returning id
    )
    select (select count(*)::int from ended) as ended,
           jobferry_audit(member.account_id, $3::json, 'sessions.end', 'member', member.id,
                          coalesce(member.email, member.name, member.subject), null,
                          jsonb_build_object('ended', (select count(*) from ended)))
      from member where member.id = $1 and member.account_id = $2`,
};

/** @returns the number of ended sessions; null when the account has no such member */
export async function endSessionsOfMember(db: Database, by: Author, memberId: string): Promise<number | null> {
  const row = await db.one<{ ended: number }>(END_OF_MEMBER, [memberId, by.accountId, actorJson(by.actor)]);
  return row === null ? null : row.ended;
}

const CREATE_LINK: Statement = {
  name: 'create-sign-in-link',
  text: `
    with expired as (delete from sign_in_link where expires_at < jobferry_now())
    insert into sign_in_link (hash, account_id, expires_at)
    select $1, id, jobferry_now() + $3::float8 * interval '1 ms'
      from account where id = coalesce($2, ${OPERATORS_ACCOUNT})
    returning account_id`,
};

/**
 * @param accountId null for the operator's account
 * @returns false when there is no such account
 */
export async function createSignInLink(
  db: Database,
  accountId: string | null,
  hash: string,
  maxMs: number,
): Promise<boolean> {
  return (await db.query(CREATE_LINK, [hash, accountId, maxMs])).length > 0;
}

// The entry has the member as its actor, as after a change of its access.
const END_OF_PERSON: Statement = {
  name: 'end-sessions-of-person',
  text: `
    with holder as materialized (
      select id, coalesce(email, name, subject) as label from member
       where account_id = $1 and issuer = $2 and subject = $3
    ), ended as (
      delete from session using holder where session.member_id = holder.id returning session.id
    ), counted as materialized (select count(*)::int as ended from ended)
    select jobferry_audit($1, json_build_object('type', 'member', 'id', holder.id, 'label', holder.label), 'sessions.end',
                          'member', holder.id, holder.label, null,
                          jsonb_build_object('ended', counted.ended, 'reason', 'no_role'))
      from holder, counted where counted.ended > 0`,
};

/** Ends the sessions of a person to whom the provider grants no role any more, if it is a member. */
export async function endSessionsOfPerson(
  db: Database,
  accountId: string,
  { issuer, subject }: { issuer: string; subject: string },
): Promise<void> {
  await db.query(END_OF_PERSON, [accountId, issuer, subject]);
}

const ACCOUNT_OF_LINK: Statement = {
  name: 'account-of-sign-in-link',
  text: 'select account_id as id from sign_in_link where hash = $1 and expires_at > jobferry_now()',
};

/** @returns the id of the link's account; null when the link is unknown, used or expired */
export async function accountOfLink(db: Database, hash: string): Promise<string | null> {
  return (await db.one<{ id: string }>(ACCOUNT_OF_LINK, [hash]))?.id ?? null;
}

/**
 * Stores a new session, and removes the link that it was requested with: both or neither, so a failure costs no link.
 * @returns null when the link is unknown, used or expired
 */
export async function createSessionOfLink(
  prisma: PrismaClient,
  by: Author,
  session: NewSession,
  linkHash: string,
): Promise<{ expiresAt: Date } | null> {
  return exclusively(prisma, by.accountId, async (tx) => {
    const used = await tx.$executeRaw`
      delete from sign_in_link
       where hash = ${linkHash} and account_id = ${by.accountId} and expires_at > jobferry_now()`;
    return used === 0 ? null : insertSession(tx, by, session);
  });
}
