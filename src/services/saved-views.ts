import { deleteSavedView, saveView } from '../db/saved-views.ts';
import { type Account, authorOf } from '../domain/account.ts';
import { JobferryError, notFound } from '../domain/errors.ts';
import { isId } from '../domain/id.ts';
import { type NewSavedView, newSavedView, SAVED_VIEW_LIMITS } from '../domain/saved-view.ts';
import type { Context } from './context.ts';

/** Saves filters of the dashboard. Each change is written to the audit log. */
export function createSavedViews({ db }: Pick<Context, 'db'>) {
  return {
    /**
     * Saves a filter under a name.
     * @returns the id of the view
     * @throws JobferryError `invalid_fields`, `conflict` (name), `forbidden` (too many), `unavailable`
     */
    async save(account: Account, input: NewSavedView): Promise<string> {
      const view = newSavedView(input);
      const outcome = await saveView(db, authorOf(account), view);
      if (outcome === 'taken') {
        throw new JobferryError('conflict', `a view with the name “${view.name}” exists: delete it first`);
      }
      if (outcome === 'too_many') {
        const message = `an account may have ${SAVED_VIEW_LIMITS.views} saved views: delete one first`;
        throw new JobferryError('forbidden', message);
      }
      return outcome.id;
    },

    /** Deletes a saved view, also one that another person saved. @throws JobferryError `not_found`, `unavailable` */
    async delete(account: Account, viewId: string): Promise<void> {
      if (!isId(viewId) || !(await deleteSavedView(db, authorOf(account), viewId))) throw notFound('saved view');
    },
  };
}
