import type { Access } from '../domain/access.ts';
import { type Actor, labelOfMember } from '../domain/audit.ts';
import { JobferryError } from '../domain/errors.ts';
import { type Person, SESSION_LIMITS } from '../domain/session.ts';
import { audit } from './audit.ts';
import type { PrismaClient } from './connection/prisma.ts';
import { exclusively } from './connection/transactions.ts';
import type { Prisma } from './generated/client.ts';
import { insertSession, type NewSession } from './sessions.ts';

/** A person as the OpenID provider describes it. */
export interface ProvidedPerson extends Person {
  issuer: string;
  subject: string;
}

/**
 * Stores the person as a member with this access, and a session of it. If the access has changed, the older sessions of
 * the member end.
 * @throws JobferryError `forbidden` when the account has too many members
 */
export async function signInMember(
  prisma: PrismaClient,
  accountId: string,
  person: ProvidedPerson,
  access: Access,
  session: Omit<NewSession, 'holder'>,
): Promise<{ expiresAt: Date }> {
  return exclusively(prisma, accountId, async (tx) => {
    const id = await keepMember(tx, accountId, person, access);
    const by = { accountId, actor: actorOf(id, person) };
    return insertSession(tx, by, { ...session, holder: { memberId: id, apiKeyId: null } });
  });
}

/** Creates or updates the member. @returns its id */
async function keepMember(
  tx: Prisma.TransactionClient,
  accountId: string,
  person: ProvidedPerson,
  access: Access,
): Promise<string> {
  const { issuer, subject } = person;
  const key = { accountId_issuer_subject: { accountId, issuer, subject } };
  const present = await tx.member.findUnique({ where: key });
  const [clock] = await tx.$queryRaw<{ now: Date }[]>`select jobferry_now() as now`;
  const data = {
    ...person,
    ...access,
    ...(clock === undefined ? {} : { lastSignedInAt: clock.now, lastSeenAt: clock.now }),
  };
  if (present === null) {
    if ((await tx.member.count({ where: { accountId } })) >= SESSION_LIMITS.members) {
      throw new JobferryError('forbidden', `an account may have ${SESSION_LIMITS.members} members`);
    }
    const { id } = await tx.member.create({ data: { accountId, ...data }, select: { id: true } });
    await audit(
      tx,
      { accountId, actor: actorOf(id, person) },
      { ...record(id, person), action: 'member.create', after: access },
    );
    return id;
  }
  const { id, role, mayViewPayloads } = present;
  await tx.member.update({ where: { id }, data });
  if (role === access.role && mayViewPayloads === access.mayViewPayloads) return id;
  await tx.session.deleteMany({ where: { memberId: id } });
  await audit(
    tx,
    { accountId, actor: actorOf(id, person) },
    { ...record(id, person), action: 'member.change_access', before: { role, mayViewPayloads }, after: access },
  );
  return id;
}

function record(id: string, person: ProvidedPerson) {
  return { targetType: 'member', targetId: id, targetName: labelOfMember(person) } as const;
}

function actorOf(id: string, person: ProvidedPerson): Actor {
  return { type: 'member', id, label: labelOfMember(person) };
}
