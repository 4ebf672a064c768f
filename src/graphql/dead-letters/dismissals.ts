import type { Dismissal as DismissalRow } from '../../db/generated/client.ts';
import { MAX_DISMISSALS } from '../../domain/dismissal.ts';
import { builder } from '../builder.ts';
import { InvalidRequestError, NotFoundError } from '../errors.ts';
import { refusing } from '../input.ts';

export const Dismissal = builder.prismaObject('Dismissal', {
  description:
    'The decision to leave the dead letters of an error group as they are, for all people of the account. A dead letter with the same fingerprint is dismissed if its job died by the end of the dismissal. Dead letters of jobs that died later, and dead letters with another status code or error, are not dismissed.',
  authScopes: ({ accountId }) => ({ owner: accountId }),
  fields: (t) => ({
    fingerprint: t.exposeString('fingerprint', { description: 'Fingerprint of the error group.' }),
    until: t.expose('until', { type: 'DateTime', description: 'End of the dismissal.' }),
    dismissedAt: t.expose('dismissedAt', { type: 'DateTime', description: 'Time of the decision.' }),
    dismissedBy: t.exposeString('dismissedBy', {
      description: 'Actor that made the decision, such as an API key by its name and its first and last characters.',
    }),
  }),
});

const DismissErrorGroupPayload = builder.objectRef<{ dismissal: DismissalRow }>('DismissErrorGroupPayload').implement({
  description: 'The dismissed error group.',
  fields: (t) => ({
    dismissal: t.field({
      type: Dismissal,
      description: 'The dismissal.',
      resolve: ({ dismissal }) => dismissal,
    }),
  }),
});

const RestoreErrorGroupPayload = builder.objectRef<{ fingerprint: string }>('RestoreErrorGroupPayload').implement({
  description: 'The error group that is no longer dismissed.',
  fields: (t) => ({
    fingerprint: t.exposeString('fingerprint', { description: 'Fingerprint of the error group.' }),
  }),
});

builder.mutationFields((t) => ({
  dismissErrorGroup: t.field({
    type: DismissErrorGroupPayload,
    description: `Dismisses an error group, or changes the end of its dismissal. Its dead letters do not change; the filter \`dismissed\` can exclude them. An account has at most ${MAX_DISMISSALS} dismissals. A dismissal is removed when all dead letters from before its end are past retention.`,
    errors: { types: [NotFoundError, InvalidRequestError] },
    args: {
      fingerprint: t.arg.string({ required: true, description: 'Fingerprint of the error group.' }),
      until: t.arg({
        type: 'DateTime',
        description:
          'End of the dismissal, at most 90 days from now. By default the dismissal ends now, so that new dead letters of the group are not dismissed.',
      }),
    },
    resolve: (_root, { fingerprint, until }, { services, account }) =>
      refusing(async () => ({ dismissal: await services.deadLetters.dismiss(account, fingerprint, until ?? null) })),
  }),
  restoreErrorGroup: t.field({
    type: RestoreErrorGroupPayload,
    description: 'Ends the dismissal of an error group.',
    errors: { types: [NotFoundError] },
    args: { fingerprint: t.arg.string({ required: true, description: 'Fingerprint of the error group.' }) },
    resolve: (_root, { fingerprint }, { services, account }) =>
      refusing(async () => {
        await services.deadLetters.restore(account, fingerprint);
        return { fingerprint };
      }),
  }),
}));

builder.queryFields((t) => ({
  dismissals: t.prismaField({
    type: [Dismissal],
    complexity: { field: 1, multiplier: MAX_DISMISSALS },
    description: `The dismissed error groups, the latest decision first; at most ${MAX_DISMISSALS}.`,
    resolve: (query, _root, _args, { prisma, account }) =>
      prisma.dismissal.findMany({
        ...query,
        where: { accountId: account.id },
        orderBy: [{ dismissedAt: 'desc' }, { fingerprint: 'asc' }],
        take: MAX_DISMISSALS,
      }),
  }),
}));
