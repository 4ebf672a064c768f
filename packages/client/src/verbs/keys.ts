import type { CallOptions } from '../calls.ts';
import { type Ask, ERROR, FIELDS } from './ask.ts';
import { graphql } from './document.ts';

/** A right of an API key, as GraphQL writes it: `PUBLISH` is the scope `publish` of the documents and commands. */
export type KeyScope = 'ADMIN' | 'MANAGE' | 'PUBLISH' | 'READ' | 'REPORT';

/** An API key, without its text. */
export interface ApiKey {
  /** Id, for `keys.revoke`. */
  id: string;
  /** Display name; null for none. */
  name: string | null;
  /** First characters of the key. */
  prefix: string;
  /** Last four characters of the key. */
  lastFour: string;
  /** Its rights; `ADMIN` alone for a key without limits. */
  scopes: KeyScope[];
  /** Names of the queues that it is limited to; null for all. */
  queues: string[] | null;
  /** Time at which it was created. */
  createdAt: string;
  /** Actor that created it, as in the audit log; null if that is not known. */
  createdBy: string | null;
  /** Time from which it is refused; null for none. */
  expiresAt: string | null;
  /** Time of its last use, to the minute; null for none. */
  lastUsedAt: string | null;
}

/** Result of `keys.create`. */
export interface CreatedKey extends ApiKey {
  /** The text of the key, which no later answer contains. */
  key: string;
}

/** Argument of `keys.create`. What is left out is not limited. */
export interface NewKey {
  /** Display name, such as the purpose. */
  name?: string | undefined;
  /** Rights of the key. */
  scopes?: readonly KeyScope[] | undefined;
  /** Names of the queues that the key is limited to. */
  queues?: readonly string[] | undefined;
  /** Time from which it is refused, as ISO 8601. */
  expiresAt?: string | undefined;
}

/**
 * API keys of the account. They need a key with the scope `admin`.
 * Each method throws a `JobferryApiError` for a refusal.
 */
export interface KeyVerbs {
  /** Returns the keys that were not revoked, newest first. */
  list(options?: CallOptions): Promise<ApiKey[]>;
  /** Creates a key. No later answer contains its text, `key`. */
  create(settings: NewKey, options?: CallOptions): Promise<CreatedKey>;
  /** Revokes a key, which every process then refuses within a second. */
  revoke(id: string, options?: CallOptions): Promise<void>;
}

/** @internal */
export function keyVerbs(ask: Ask): KeyVerbs {
  return {
    async list({ signal } = {}) {
      return (await ask.document('keys.list()', LIST, {}, { signal, isRepeatable: true })).account.apiKeys;
    },
    async create(settings, { signal } = {}) {
      const { apiKey, key } = await ask.result('keys.create()', CREATE, settings, { signal });
      return { ...apiKey, key };
    },
    revoke: async (id, { signal } = {}) => void (await ask.result(`keys.revoke(${id})`, REVOKE, { id }, { signal })),
  };
}

const KEY = 'id name prefix lastFour scopes queues createdAt createdBy expiresAt lastUsedAt';
const LIST = graphql(`{ account { apiKeys { ${KEY} } } }`);
const CREATE = graphql(`mutation ($name: String, $scopes: [ApiKeyScope!], $queues: [String!], $expiresAt: DateTime) {
  result: createApiKey(name: $name, scopes: $scopes, queues: $queues, expiresAt: $expiresAt) {
    ${ERROR} ${FIELDS} ... on CreateApiKeyPayload { key apiKey { ${KEY} } } } }`);
const REVOKE = graphql(`mutation ($id: ID!) { result: revokeApiKey(id: $id) { ${ERROR} } }`);
