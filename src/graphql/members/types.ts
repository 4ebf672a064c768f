import type { MemberRole as Role } from '../../domain/access.ts';
import { labelOfKey, labelOfMember } from '../../domain/audit.ts';
import { ApiKey } from '../accounts/api-keys.ts';
import { builder } from '../builder.ts';
import { MemberRole } from '../enums.ts';

export const Member = builder.prismaObject('Member', {
  description: 'A person who has signed in with the OpenID provider.',
  authScopes: (member) => ({ owner: member.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the member, 24 hexadecimal digits.' }),
    name: t.exposeString('name', { nullable: true, description: 'Name; null if the provider sent none.' }),
    email: t.exposeString('email', { nullable: true, description: 'E-mail address; null if the provider sent none.' }),
    issuer: t.exposeString('issuer', { description: 'Address of the OpenID provider.' }),
    subject: t.exposeString('subject', { description: 'Id of the person at the OpenID provider.' }),
    role: t.field({
      type: MemberRole,
      description: 'Role at the last sign-in.',
      resolve: ({ role }) => role as Role,
    }),
    mayViewPayloads: t.exposeBoolean('mayViewPayloads', {
      description: 'Whether the member could see payloads at the last sign-in.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the first sign-in.' }),
    lastSignedInAt: t.expose('lastSignedInAt', { type: 'DateTime', description: 'Time of the last sign-in.' }),
    lastSeenAt: t.expose('lastSeenAt', {
      type: 'DateTime',
      description: 'Time of the last use of a session of the member, to the minute. It stays when the session ends.',
    }),
    sessionCount: t.int({
      description: 'Number of sessions of the member that have not ended, at most 20.',
      resolve: ({ id }, _args, { loaders }) => loaders.sessionsOfMember.load(id),
    }),
  }),
});

/** Read with the session, so that a page of sessions needs one statement. */
export const HOLDER = { member: true, apiKey: true } as const;

export const Session = builder.prismaObject('Session', {
  include: HOLDER,
  description: 'A sign-in to the dashboard that has not ended.',
  authScopes: (session) => ({ owner: session.accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the session, used to end it.' }),
    label: t.string({
      description:
        'Who has signed in, as in the audit log: a member by the e-mail address, an API key by its name and its first and last characters, or `operator`.',
      resolve: ({ member, apiKey }) => {
        if (member !== null) return labelOfMember(member);
        return apiKey === null ? 'operator' : labelOfKey(apiKey);
      },
    }),
    member: t.field({
      type: Member,
      nullable: true,
      description: 'The member who has signed in; null if the session is of an API key or a sign-in link.',
      resolve: ({ member }) => member,
    }),
    apiKey: t.field({
      type: ApiKey,
      nullable: true,
      description: 'The API key that was exchanged for the session; null if it is of a member or a sign-in link.',
      resolve: ({ apiKey }) => apiKey,
    }),
    userAgent: t.exposeString('userAgent', {
      nullable: true,
      description: 'Name of the browser as it sent it, at most 256 characters; null if it sent none.',
    }),
    isCurrent: t.boolean({
      description: 'Whether it is the session of this request.',
      resolve: ({ id }, _args, { session }) => id === session?.id,
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the sign-in.' }),
    lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', description: 'Time of the last use, to the minute.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'Time at which the session ends by itself.' }),
  }),
});
