import { z } from 'zod';

/** Says what is wrong with a variable in the words of the other messages, which zod's own would not be. */
export const WORDING: z.ZodErrorMap = (issue, { defaultError }) => {
  // The words of the variable itself, such as "must be a number of seconds".
  if (defaultError.startsWith('must ')) return { message: defaultError };
  return { message: wordsFor(issue) ?? defaultError };
};

function wordsFor(issue: z.ZodIssueOptionalMessage): string | null {
  switch (issue.code) {
    case z.ZodIssueCode.too_small:
      return issue.type === 'string' ? 'must not be empty' : `must be ${atLeast(issue)} ${issue.minimum}`;
    case z.ZodIssueCode.too_big:
      return issue.type === 'string' ? 'is too long' : `must be at most ${issue.maximum}`;
    case z.ZodIssueCode.invalid_enum_value:
      return `must be one of ${issue.options.join(', ')}`;
    case z.ZodIssueCode.unrecognized_keys:
      return `has fields that Jobferry does not know: ${issue.keys.join(', ')}`;
    case z.ZodIssueCode.invalid_type:
      if (issue.received === 'undefined') return 'must be given';
      return issue.expected === 'integer' ? 'must be a whole number' : `must be of the type ${issue.expected}`;
    default:
      return null;
  }
}

function atLeast({ inclusive }: { inclusive: boolean }): string {
  return inclusive ? 'at least' : 'more than';
}
