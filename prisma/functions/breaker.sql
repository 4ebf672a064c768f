-- The breaker of a queue: while every answer of the receiver fails, the queue is held, and the end of each hold
-- releases one job as a probe (docs/decisions/0053). Its state is in the queue's row, so it is exact over any number of
-- workers. It is open while breaker_opened_at and hold_until are set. Whatever else ends a hold, such as a person, has
-- closed it too.

-- The time from the opening or from the end of a failed probe to the next probe.
create or replace function jobferry_breaker_pause(p_probes integer) returns interval
language sql immutable
as $$ select least(10 * 2 ^ least(p_probes, 10), 300) * interval '1 second' $$;

-- Counts answers that failed; of p_jobs at most one is the queue's probe. p_in_row: none was accepted together with
-- them. p_ms: a hold that the receiver of the probe asked for. While the breaker is open it is no longer than the
-- longest pause: what asks for hours may be a proxy, whose receiver is back in a minute.
create or replace function jobferry_breaker_failing(
  p_queue text, p_jobs text[], p_in_row boolean, p_ms float8, p_error text, p_now timestamptz
) returns void
language plpgsql
as $$
declare
  q queue%rowtype;
  v_ends_probe boolean;
  v_was_open boolean;
  v_opens boolean;
  v_holds timestamptz; -- the end of a hold that begins now; null: none does
begin
  select * into q from queue where id = p_queue for no key update;
  v_ends_probe := coalesce(q.probe_job_id = any (p_jobs), false);
  v_was_open := q.breaker_opened_at is not null and q.hold_until is not null;
  -- It may have been switched off since the delivery began.
  if p_in_row and (q.breaker_failures is not null or q.breaker_seconds is not null) then
    q.breaker_failed := least(q.breaker_failed + cardinality(p_jobs), 1000000);
    q.breaker_failed_since := coalesce(q.breaker_failed_since, p_now);
  end if;
  v_opens := p_in_row and not v_was_open and q.deleted_at is null and coalesce(
    q.breaker_failed >= q.breaker_failures
    or q.breaker_failed >= 2 and p_now - q.breaker_failed_since >= q.breaker_seconds * interval '1 second', false);
  if v_opens then
    q.breaker_opened_at := p_now;
    -- A receiver that works for a moment only is asked less often for that.
    q.breaker_probes := case when p_now - q.breaker_closed_at <= interval '10 minutes'
                             then least(q.breaker_probes + 1, 1000000) else 0 end;
  elsif v_was_open and v_ends_probe then
    q.breaker_probes := least(q.breaker_probes + 1, 1000000);
  end if;
  if v_opens or v_was_open and v_ends_probe then
    q.breaker_until := p_now + greatest(jobferry_breaker_pause(q.breaker_probes),
                                        least(coalesce(p_ms, 0) * interval '1 millisecond', interval '5 minutes'));
    v_holds := q.breaker_until;
  else
    v_holds := p_now + p_ms * interval '1 millisecond';
  end if;
  update queue set
    breaker_failed = q.breaker_failed, breaker_failed_since = q.breaker_failed_since, breaker_opened_at = q.breaker_opened_at,
    breaker_until = q.breaker_until, breaker_probes = q.breaker_probes,
    -- The hold that ends last counts, and the end of a probe resumes a queue that is not held.
    hold_until = case when v_holds is not null then greatest(hold_until, v_holds)
                      when v_ends_probe and hold_until <= p_now and not v_was_open then null else hold_until end,
    hold_since = case when v_holds is not null and hold_until is null then p_now else hold_since end,
    hold_job_id = case when v_holds < hold_until or v_holds is null then hold_job_id else p_jobs[1] end,
    hold_reason = case when v_holds < hold_until or v_holds is null then hold_reason else p_error end,
    probe_job_id = case when v_ends_probe then null else probe_job_id end
   where id = p_queue;
  if v_opens then
    perform jobferry_audit(q.account_id, '{"type": "service", "label": "Jobferry"}', 'queue.open_breaker', 'queue', q.id, q.name,
      null, jsonb_build_object('failed', q.breaker_failed, 'failedSince', jobferry_iso(q.breaker_failed_since), 'error', p_error,
                               'nextProbeAt', jobferry_iso(q.breaker_until)));
  end if;
end
$$;

-- The receiver accepted jobs: failures are counted from 0 again, and an open breaker closes. p_ended: their attempts
-- are over, so that one of them that is the queue's probe ends it.
create or replace function jobferry_breaker_alive(p_queue text, p_jobs text[], p_ended boolean, p_now timestamptz) returns void
language plpgsql
as $$
declare
  q queue%rowtype;
  v_was_open boolean;
  v_ends_probe boolean;
begin
  select * into q from queue
   where id = p_queue and (breaker_failed > 0 or breaker_opened_at is not null or p_ended and probe_job_id = any (p_jobs))
     for no key update;
  if q.id is null then return; end if;
  v_was_open := q.breaker_opened_at is not null;
  v_ends_probe := coalesce((p_ended or v_was_open) and q.probe_job_id = any (p_jobs), false);
  if v_was_open and q.hold_until = q.breaker_until then
    q.hold_until := null; q.probe_job_id := null;
  elsif v_ends_probe then
    -- A receiver may have asked for a hold that lasts longer.
    q.probe_job_id := null;
    if q.hold_until <= p_now then q.hold_until := null; end if;
  end if;
  update queue set
    breaker_failed = 0, breaker_failed_since = null, breaker_opened_at = null, breaker_until = null,
    breaker_closed_at = case when v_was_open then p_now else breaker_closed_at end,
    hold_until = q.hold_until, probe_job_id = q.probe_job_id
   where id = p_queue;
  if v_was_open then
    perform jobferry_audit(q.account_id, '{"type": "service", "label": "Jobferry"}', 'queue.close_breaker', 'queue', q.id, q.name,
      jsonb_build_object('openedAt', jobferry_iso(q.breaker_opened_at), 'failedProbes', q.breaker_probes), null);
  end if;
end
$$;

-- The settings of a breaker, as the audit log has them; null for a queue without one.
create or replace function jobferry_breaker_json(p_failures integer, p_seconds integer) returns jsonb
language sql immutable
as $$
  select case when p_failures is not null or p_seconds is not null
              then jsonb_build_object('failures', p_failures, 'seconds', p_seconds) end
$$;

-- Tells breakers of the successes that were applied, which need nothing else.
create or replace function jobferry_settle_alive(p_items json, p_applied text[], p_now timestamptz) returns void
language plpgsql
as $$
declare
  v_effects json;
begin
  select json_agg(json_build_object('queue_id', j.queue_id, 'id', i.id, 'effect', i.effect)) into v_effects
    from json_to_recordset(p_items) as i(id text, effect text) cross join lateral (
      select job.queue_id from job where job.id = i.id offset 0) j
   where i.effect = 'alive' and i.id = any (p_applied);
  if v_effects is not null then perform jobferry_settle_holds(v_effects, p_now); end if;
end
$$;
