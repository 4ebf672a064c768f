import { notFound } from '../../domain/errors.ts';
import { builder } from '../builder.ts';
import { NotFoundError } from '../errors.ts';
import { idOf, refusing } from '../input.ts';
import { visibleSessions } from './queries.ts';

const EndSessionPayload = builder.objectRef<{ id: string }>('EndSessionPayload').implement({
  description: 'The ended session. Within a second, no process accepts it any more.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Id of the session.' }) }),
});

const EndSessionsOfMemberPayload = builder.objectRef<{ ended: number }>('EndSessionsOfMemberPayload').implement({
  description: 'The result of ending the sessions of a member.',
  fields: (t) => ({ ended: t.exposeInt('ended', { description: 'Number of sessions that were ended.' }) }),
});

builder.mutationFields((t) => ({
  endSession: t.field({
    type: EndSessionPayload,
    description:
      'Ends a session. It may be the session of this request. An `ADMIN` may end every session of the account, others their own.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the session.' }) },
    resolve: (_root, { id }, context) =>
      refusing(async () => {
        const { services, account, prisma, loaders } = context;
        const visible = visibleSessions(context, (await loaders.server()).now);
        const session = await prisma.session.findFirst({ where: { AND: [visible, { id: idOf(id, 'session') }] } });
        if (session === null) throw notFound('session');
        return { id: await services.sessions.endSession(account, id) };
      }),
  }),
  endSessionsOfMember: t.field({
    type: EndSessionsOfMemberPayload,
    description:
      'Ends all sessions of a member. The member can sign in again, unless the OpenID provider or `OIDC_ROLES` refuses it.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the member.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => ({ ended: await services.sessions.endSessionsOfMember(account, idOf(id, 'member')) })),
  }),
}));
