import type { Author } from '../domain/audit.ts';
import { type NewSavedView, SAVED_VIEW_LIMITS } from '../domain/saved-view.ts';
import { actorJson } from './audit.ts';
import type { Database, Statement } from './connection/database.ts';

/** Rows of `saved_view`. */

// Processes that save at the same moment may exceed the limit by one each, which harms nothing.
const SAVE: Statement = {
  name: 'save-view',
  text: `
    with present as materialized (
      select count(*) < ${SAVED_VIEW_LIMITS.views} as room from saved_view where account_id = $1
    ), saved as (
      insert into saved_view (account_id, page, name, query, created_by)
      select $1, $3, $4, $5, $2::json ->> 'label' from present where room
      on conflict (account_id, page, name) do nothing
      returning id, name, page, query
    )
    select present.room, saved.id,
           case when saved.id is not null then
             jobferry_audit($1, $2::json, 'saved_view.save', 'saved_view', saved.id, saved.name, null,
                            jsonb_build_object('page', saved.page, 'query', saved.query)) end
      from present left join saved on true`,
};

/** @returns the id of the view. `taken`: the page has a view of this name; `too_many`: the account has the maximum */
export async function saveView(
  db: Database,
  by: Author,
  { page, name, query }: NewSavedView,
): Promise<{ id: string } | 'taken' | 'too_many'> {
  const values = [by.accountId, actorJson(by.actor), page, name, query];
  const row = await db.one<{ room: boolean; id: string | null }>(SAVE, values);
  if (row === null || !row.room) return 'too_many';
  return row.id === null ? 'taken' : { id: row.id };
}

const DELETE: Statement = {
  name: 'delete-saved-view',
  text: `
    with gone as (delete from saved_view where id = $3 and account_id = $1 returning id, name, page, query)
    select jobferry_audit($1, $2::json, 'saved_view.delete', 'saved_view', id, name,
                          jsonb_build_object('page', page, 'query', query), null)
      from gone`,
};

/** @returns false if there is no such view */
export async function deleteSavedView(db: Database, by: Author, viewId: string): Promise<boolean> {
  return (await db.query(DELETE, [by.accountId, actorJson(by.actor), viewId])).length > 0;
}
