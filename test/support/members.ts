import pg from 'pg';
import type { MemberRole } from '../../src/domain/access.ts';
import { generateToken, hashToken } from '../../src/services/sign-in/token.ts';
import { type BrowserSession, sessionHeaders } from './browser-session.ts';

/** Variables of a process whose members are of a provider that nothing asks. */
export const OIDC_ENV = {
  OIDC_ISSUER: 'http://localhost:9/',
  OIDC_CLIENT_ID: 'jobferry',
  OIDC_ROLES: '{"groups":{"ops":"operator"}}',
};

export interface TestMember extends BrowserSession {
  id: string;
  sessionId: string;
  email: string;
}

let members = 0;

/** A member of the first account, signed in without a provider. */
export async function createMember(
  { databaseUrl, baseUrl }: { databaseUrl: string; baseUrl: string },
  { role, mayViewPayloads = false }: { role: MemberRole; mayViewPayloads?: boolean },
): Promise<TestMember> {
  members += 1;
  const email = `${role}-${members}@example.com`;
  const token = generateToken('session');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string; session_id: string }>(
      `with made as (
         insert into member (account_id, issuer, subject, email, role, may_view_payloads)
         select id, $1, $2, $2, $3, $4 from account order by id limit 1 returning id, account_id
       ), session as (
         insert into session (account_id, member_id, hash, expires_at)
         select account_id, id, $5, now() + interval '1 hour' from made returning id
       )
       select made.id, session.id as session_id from made, session`,
      [OIDC_ENV.OIDC_ISSUER, email, role, mayViewPayloads, hashToken(token)],
    );
    const row = rows[0];
    if (row === undefined) throw new Error('no account');
    const cookie = `jobferry-${new URL(baseUrl).port}=${token}`;
    return { id: row.id, sessionId: row.session_id, email, ...sessionHeaders(baseUrl, cookie) };
  } finally {
    await client.end();
  }
}
