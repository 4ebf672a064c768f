import type { Prisma } from '../../db/generated/client.ts';
import { hasRole } from '../../domain/access.ts';
import { builder } from '../builder.ts';
import { countRows, pageOf, TOTAL_COUNT, TOTAL_COUNT_EXACT } from '../connections.ts';
import type { GraphQLContext } from '../context.ts';
import { inPlace, newestFirst } from '../newest-first.ts';
import { pagePrice } from '../prices.ts';
import { HOLDER, Member, Session } from './types.ts';

const MemberConnection = builder.connectionObject(
  {
    type: Member,
    name: 'MemberConnection',
    description: 'A page of members.',
    fields: (t) => ({ totalCount: t.int(TOTAL_COUNT), totalCountExact: t.boolean(TOTAL_COUNT_EXACT) }),
  },
  { name: 'MemberEdge', description: 'A member and its cursor.' },
);

const SessionConnection = builder.connectionObject(
  {
    type: Session,
    name: 'SessionConnection',
    description: 'A page of sessions.',
    fields: (t) => ({ totalCount: t.int(TOTAL_COUNT), totalCountExact: t.boolean(TOTAL_COUNT_EXACT) }),
  },
  { name: 'SessionEdge', description: 'A session and its cursor.' },
);

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
      resolve: (_root, args, { prisma, account }, info) => {
        const own = { accountId: account.id };
        const count = () => countRows((take) => prisma.member.count({ where: own, take }));
        return pageOf({ args, info, count }, async (requested) => {
          const { where, ...slice } = newestFirst(requested);
          return inPlace(await prisma.member.findMany({ ...slice, where: { AND: [own, where] } }));
        });
      },
    },
    MemberConnection,
  ),
  sessions: t.connection(
    {
      type: Session,
      complexity: pagePrice,
      description:
        'Sessions that have not ended, newest first: all of the account for an `ADMIN`, the own ones for others.',
      resolve: async (_root, args, context, info) => {
        const { prisma, loaders } = context;
        const visible = visibleSessions(context, (await loaders.server()).now);
        const count = () => countRows((take) => prisma.session.count({ where: visible, take }));
        return pageOf({ args, info, count }, async (requested) => {
          const { where, ...slice } = newestFirst(requested);
          return inPlace(
            await prisma.session.findMany({ ...slice, where: { AND: [visible, where] }, include: HOLDER }),
          );
        });
      },
    },
    SessionConnection,
  ),
}));
