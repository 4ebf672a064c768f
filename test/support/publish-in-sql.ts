/** The call that publishes so many jobs in one commit, without a process. */
export function publishInSql(queueId: string, count: number): string {
  return `jobferry_publish((select json_agg(json_build_object(
      'accountId', account_id, 'queue', name, 'delayMs', 0))
    from queue, generate_series(1, ${count}) where id = '${queueId}'), array_fill('{}'::text, array[${count}]), true, true, '3 d', '1 d')`;
}

/** Publishes so many jobs of which no worker is notified. In the same commit every wake-up is lost. */
export function publishUnnoticed(queueId: string, count: number): string {
  return `do $$ begin
    perform ${publishInSql(queueId, count)};
    delete from graphile_worker._private_jobs;
  end $$`;
}
