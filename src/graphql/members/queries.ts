import type { Prisma } from '../../db/generated/client.ts';
import { hasRole } from '../../domain/access.ts';
import { builder } from '../builder.ts';
import { connectionOf } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';
import { HOLDER, Member, Session } from './types.ts';

const MemberConnection = connectionOf(Member, 'Member', {
  page: 'A page of members.',
  edge: 'A member and its cursor.',
});

const SessionConnection = connectionOf(Session, 'Session', {
  page: 'A page of sessions.',
  edge: 'A session and its cursor.',
});

/** The sessions that a client may see and end: an admin those of the account, others their own. */
export function visibleSessions(
  { account, access }: Pick<GraphQLContext, 'account' | 'access'>,
  now: Date,
): Prisma.SessionWhereInput {
  const { actor } = account;
  const own = {
    memberId: actor.type === 'member' ? actor.id : null,
    apiKeyId: actor.type === 'api_key' ? actor.id : null,
  };
  return {
    accountId: account.id,
    expiresAt: { gt: now },
    OR: [{ apiKeyId: null }, { apiKey: { revokedAt: null } }],
    ...(hasRole(access, 'admin') ? {} : own),
  };
}

builder.queryFields((t) => ({
  members: t.connection(
    {
      type: Member,
      complexity: pagePrice,
      description: 'People who have signed in with the OpenID provider, newest first.',
      resolve: (_root, args, { prisma, account }, info) =>
        newestFirst({ args, info }, { accountId: account.id }, prisma.member),
    },
    MemberConnection,
  ),
  sessions: t.connection(
    {
      type: Session,
      complexity: pagePrice,
      description:
        'Sessions that have not ended, newest first: all of the account for an `ADMIN`, their own for other roles.',
      resolve: async (_root, args, context, info) => {
        const { prisma, loaders } = context;
        const visible = visibleSessions(context, (await loaders.server()).now);
        return newestFirst({ args, info }, visible, {
          count: (query) => prisma.session.count(query),
          findMany: (query) => prisma.session.findMany({ ...query, include: HOLDER }),
        });
      },
    },
    SessionConnection,
  ),
}));
