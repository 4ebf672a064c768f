import {
  isPlainView,
  type SavedViewPage as Page,
  SAVED_VIEW_LIMITS,
  SAVED_VIEW_PAGES,
} from '../../domain/saved-view.ts';
import { builder } from '../builder.ts';
import { enumOf } from '../enums.ts';
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../errors.ts';
import { refusing } from '../input.ts';

const SavedViewPage = enumOf(
  'SavedViewPage',
  'Page of the dashboard. `JOBS`: its path is `/jobs`. `DEAD_LETTERS`: its path is `/dead`.',
  SAVED_VIEW_PAGES,
);

const SavedView = builder.prismaObject('SavedView', {
  description: 'A filter of the dashboard under a name, for all people of the account.',
  authScopes: ({ accountId }) => ({ owner: accountId }),
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Id of the view, 24 hexadecimal digits.' }),
    page: t.field({
      type: SavedViewPage,
      description: 'The page whose list is filtered.',
      // The cast is safe: a CHECK constraint restricts the column to the domain's values.
      resolve: ({ page }) => page as Page,
    }),
    name: t.exposeString('name', { description: 'Name of the view. A page has no two views with one name.' }),
    query: t.string({
      nullable: true,
      description:
        'Query part of the page’s address, without its question mark. Null if the client may not see payloads, unless the query has only conditions that are known to be about other things.',
      resolve: ({ query }, _args, { access }) => (access.mayViewPayloads || isPlainView(query) ? query : null),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time at which the view was saved.' }),
    createdBy: t.exposeString('createdBy', {
      description: 'Actor that saved the view, such as an API key by its name and its first and last characters.',
    }),
  }),
});

const SaveViewInput = builder.inputType('SaveViewInput', {
  description: 'A filter and its name.',
  fields: (t) => ({
    page: t.field({ type: SavedViewPage, required: true, description: 'The page whose list is filtered.' }),
    name: t.string({
      required: true,
      description: `Name of the view, 1 to ${SAVED_VIEW_LIMITS.nameLength} characters. Spaces around it are removed.`,
    }),
    query: t.string({
      required: true,
      description: `Query part of the page’s address, without its question mark; at most ${SAVED_VIEW_LIMITS.queryLength} characters.`,
    }),
  }),
});

const SaveViewPayload = builder.objectRef<{ id: string }>('SaveViewPayload').implement({
  description: 'The saved view.',
  fields: (t) => ({
    view: t.prismaField({
      type: SavedView,
      description: 'The view.',
      resolve: (query, { id }, _args, { prisma, account }) =>
        prisma.savedView.findFirstOrThrow({ ...query, where: { id, accountId: account.id } }),
    }),
  }),
});

const DeleteSavedViewPayload = builder.objectRef<{ id: string }>('DeleteSavedViewPayload').implement({
  description: 'The view that was deleted.',
  fields: (t) => ({ id: t.exposeID('id', { description: 'Id of the view.' }) }),
});

builder.mutationFields((t) => ({
  saveView: t.field({
    type: SaveViewPayload,
    description: `Saves a filter of the dashboard under a name, for all people of the account. An account has at most ${SAVED_VIEW_LIMITS.views} views.`,
    errors: { types: [ValidationError, ConflictError, ForbiddenError] },
    args: { input: t.arg({ type: SaveViewInput, required: true, description: 'The view.' }) },
    resolve: (_root, { input }, { services, account }) =>
      refusing(async () => ({ id: await services.savedViews.save(account, input) })),
  }),
  deleteSavedView: t.field({
    type: DeleteSavedViewPayload,
    description: 'Deletes a saved view, also one that another person saved.',
    errors: { types: [NotFoundError] },
    args: { id: t.arg.id({ required: true, description: 'Id of the view.' }) },
    resolve: (_root, { id }, { services, account }) =>
      refusing(async () => {
        await services.savedViews.delete(account, id);
        return { id };
      }),
  }),
}));

builder.queryFields((t) => ({
  savedViews: t.prismaField({
    type: [SavedView],
    complexity: { field: 1, multiplier: SAVED_VIEW_LIMITS.views },
    description: `The saved views of the account, by page and name; at most ${SAVED_VIEW_LIMITS.views}.`,
    resolve: (query, _root, _args, { prisma, account }) =>
      prisma.savedView.findMany({
        ...query,
        where: { accountId: account.id },
        orderBy: [{ page: 'desc' }, { name: 'asc' }],
        take: SAVED_VIEW_LIMITS.views,
      }),
  }),
}));
