/**
 * The part of Standard Schema (standardschema.dev, version 1) that checks a value. Zod, Valibot, ArkType and others
 * have it in their schemas.
 */
export interface PayloadSchema<Output> {
  /** The interface that the libraries share. */
  readonly '~standard': {
    /** Version of the interface. */
    readonly version: 1;
    /** Name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Exists in types only. */
    readonly types?: SchemaTypes<Output> | undefined;
  };
}

/** The types of a schema. */
export interface SchemaTypes<Output> {
  /** Type of what is checked. */
  readonly input: unknown;
  /** Type of the checked value. */
  readonly output: Output;
}

/** The checked value, or its problems. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** A problem of a value. */
export interface SchemaIssue {
  /** The problem in words. */
  readonly message: string;
  /** Where in the value. */
  readonly path?: readonly (PropertyKey | SchemaPathPart)[] | undefined;
}

/** A step of a path, as some libraries write it. */
export interface SchemaPathPart {
  /** Name of a member, or index of an item. */
  readonly key: PropertyKey;
}

/** More would fill the log and the job's page. */
const MAX_ISSUES = 5;

/** Returns the problems of a payload in one line: `to: Invalid email; lines.0.sku: Required`. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  const lines = issues.slice(0, MAX_ISSUES).map(({ message, path = [] }) => {
    const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
    // Libraries quote the payload, whose control characters could rewrite a terminal's text.
    return (at === '' ? message : `${at}: ${message}`).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  });
  const more = issues.length - lines.length;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}
