-- Where the notifications of a rule go: {"type": "webhook"}, to webhook_url; {"type": "email", "to": […]}; or
-- {"type": "pagerduty", "severity": …, "keyEnd": …}, whose routing key is in signing_secret. The last release reads webhook_url
-- only, so that is a URL for every target, and notifications that it cannot send are tried again.
alter table alert_rule add column target jsonb not null default '{"type": "webhook"}';
alter table alert_rule add constraint alert_rule_target_values check (target ->> 'type' in ('webhook', 'email', 'pagerduty'));
