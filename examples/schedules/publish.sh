#!/bin/sh
# Publishes a job for the present tick of a schedule: publish.sh QUEUE SCHEDULE PERIOD [PAYLOAD]
#
#   QUEUE     name of the queue
#   SCHEDULE  name of the schedule, such as sales-report
#   PERIOD    minute, hour or day: one job is created in each
#   PAYLOAD   JSON object; {} by default
#
# It needs JOBFERRY_URL and JOBFERRY_API_KEY. TICK, such as 2026-11-23, publishes a tick that was missed.
set -eu

if [ $# -lt 3 ]; then
  echo 'usage: publish.sh QUEUE SCHEDULE PERIOD [PAYLOAD]' >&2
  exit 2
fi
queue=$1
schedule=$2
payload=${4:-'{}'}
case $3 in
  minute) format=%Y-%m-%dT%H:%MZ ;;
  hour) format=%Y-%m-%dT%HZ ;;
  day) format=%Y-%m-%d ;;
  *)
    echo "PERIOD is minute, hour or day, and not $3" >&2
    exit 2
    ;;
esac
# The same for each publish of one tick.
key=$schedule-${TICK:-$(date -u "+$format")}

if command -v jobferry > /dev/null; then
  exec jobferry publish "$queue" --key "$key" --payload "$payload"
fi
# The API key comes by the standard input, because all users of a machine can see arguments.
printf 'header = "authorization: Bearer %s"\n' "$JOBFERRY_API_KEY" |
  curl --config - --silent --show-error --fail-with-body --max-time 30 --retry 5 --retry-connrefused \
    --header 'content-type: application/json' \
    --data "{\"payload\":$payload,\"idempotencyKey\":\"$key\"}" \
    "${JOBFERRY_URL%/}/v1/queues/$queue/jobs"
echo
