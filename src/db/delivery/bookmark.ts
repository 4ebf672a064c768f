/**
 * SQL: a join with the bookmark `b` of the queue `q` at `clock.now` (docs/decisions/0059). All columns are null without
 * a bookmark, and its times are null also if the clock was set back. It does the same as `jobferry_bookmark`, which
 * costs more if it is called for each of many queues.
 */
export const BOOKMARK_OF_Q = `
      left join lateral (
        select m.token, m.early, case when m.set_at <= clock.now then m.due end as due,
               case when m.set_at <= clock.now then m.ends end as ends
          from queue_bookmark m where m.queue_id = q.id order by m.number desc limit 1) b on true`;
