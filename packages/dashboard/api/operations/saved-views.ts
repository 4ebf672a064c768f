import { graphql, type ResultOf } from '../../../query/schema/graphql.ts';

export const SavedViews = graphql(`
  query SavedViews { savedViews { id page name query } }
`);
export type SavedView = ResultOf<typeof SavedViews>['savedViews'][number];

export const SaveView = graphql(`
  mutation SaveView($input: SaveViewInput!) {
    saveView(input: $input) {
      ... on Error { message }
      ... on ValidationError { formErrors fieldErrors { field messages } }
    }
  }
`);

export const DeleteView = graphql(`
  mutation DeleteView($id: ID!) { deleteSavedView(id: $id) { ... on Error { message } } }
`);
