import { LIMITS } from '../../../../src/domain/queue.ts';
import { ofSettings, type QueueSetting } from '../../../../src/domain/queue-settings.ts';
import { signingSecretProblem } from '../../../../src/domain/signing-secret.ts';
import { tagsProblem } from '../../../../src/domain/tags-problem.ts';
import { parseWebhookUrl } from '../../../../src/domain/webhook-url.ts';

/**
 * The bounds of what a body contains. The package has the contract without them: its schemas say which JSON the service
 * takes, and most of the service's own checks are code.
 */

/** Returns what is wrong with a value of the right type. */
type Check = (value: unknown) => string[];

interface Bounds {
  readonly min: number;
  readonly max: number;
}

const isWithin = (value: unknown, { min, max }: Bounds) => typeof value !== 'number' || (value >= min && value <= max);

function seconds(bounds: Bounds): Check {
  return (value) => (isWithin(value, bounds) ? [] : [`must be ${bounds.min} to ${bounds.max} seconds`]);
}

function whole(bounds: Bounds): Check {
  return (value) => [
    ...(isWithin(value, bounds) ? [] : [`must be ${bounds.min} to ${bounds.max}`]),
    ...(typeof value !== 'number' || Number.isInteger(value) ? [] : ['must be a whole number']),
  ];
}

function ofText(check: (text: string) => string | null): Check {
  return (value) => (typeof value === 'string' ? [check(value)].filter((problem) => problem !== null) : []);
}

/** The schemas say which values a switch and a choice have. */
function checkOf(setting: QueueSetting): Check {
  if (setting.kind === 'whole') return whole(setting);
  return setting.kind === 'seconds' ? seconds(setting) : () => [];
}

/** The checks by the name of a member; no two bodies have one name for different things. */
const CHECKS = new Map<string, Check>(
  Object.entries({
    payload: (value: unknown) => (isTooDeep(value) ? [`must not be more than ${LIMITS.payloadDepth} levels deep`] : []),
    delay: seconds(LIMITS.publishDelay),
    idempotencyKey: ofText((text) => {
      const { length } = [...text];
      if (length < 1 || length > LIMITS.idempotencyKeyLength)
        return `must have 1 to ${LIMITS.idempotencyKeyLength} characters`;
      return text.includes('\0') || !text.isWellFormed() ? 'must not contain NUL or lone surrogates' : null;
    }),
    name: ofText((text) =>
      LIMITS.queueNamePattern.test(text) && text.length <= LIMITS.queueNameLength
        ? null
        : `must be 1 to ${LIMITS.queueNameLength} of a-z, 0-9, - and _`,
    ),
    webhookUrl: ofText((text) => {
      const url = parseWebhookUrl(text);
      return url.ok ? null : url.message;
    }),
    ...ofSettings(checkOf),
    signingSecret: ofText(signingSecretProblem),
    tags: (value: unknown) => (Array.isArray(value) ? [tagsProblem(value)].filter((problem) => problem !== null) : []),
  }),
);

/** Returns what the service refuses in the members of a body, by their names. */
export function problemsIn(body: object): Record<string, string[]> {
  const checked = Object.entries(body).map(([name, value]) => [name, CHECKS.get(name)?.(value) ?? []] as const);
  return Object.fromEntries(checked.filter(([, problems]) => problems.length > 0));
}

function isTooDeep(value: unknown, levels: number = LIMITS.payloadDepth): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isTooDeep(member, levels - 1));
}
