import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/**
 * Encryption at rest (docs/decisions/0007): AES-256-GCM with a separate key for each text, so that the number of texts
 * is not limited by GCM. The stored text is `enc:v1:<key id>:<base64 of nonce, ciphertext, tag>`. The nonce has 24
 * bytes: the text's key is derived from the first half, and the second half is GCM's nonce.
 *
 * The scope is associated data, so a ciphertext that was moved to another queue, or to another kind of column, cannot
 * be decrypted.
 */
const PREFIX = 'enc:v1:';
const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const HALF_NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_LENGTH = 8;
const FORM = /^enc:v1:([0-9a-f]{8}):([A-Za-z0-9+/]+={0,2})$/;
/** Limit of decrypted signing secrets in the cache. Usually there is one per queue. */
const MAX_CACHED = 10_000;

/** The kind of a text, and the id of its queue or alert rule. */
export type Scope = `${'signing-secret' | 'payload' | 'answer' | 'link'}:${string}`;

/** That a text was written by a holder of the key. */
interface Signature {
  /** Id of the key. */
  readonly key: string;
  /** HMAC-SHA256 in hexadecimal digits. */
  readonly hmac: string;
}

/** This process cannot decrypt a stored text. The message is for operators and contains no secret. */
export class UnreadableError extends Error {
  override readonly name = 'UnreadableError';
  /** Id of the key that this process does not have; null if the stored text itself is damaged. */
  readonly missingKey: string | null;

  constructor(message: string, missingKey: string | null = null) {
    super(message);
    this.missingKey = missingKey;
  }
}

export class Cipher {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #cached = new Map<string, { scope: Scope; text: string }>();
  #keyId: string | null;

  /**
   * @param keys keys of 32 bytes; the first encrypts unless `encryptWith` chooses another one, and all of them decrypt
   */
  constructor(keys: readonly Uint8Array[] = []) {
    for (const key of keys) if (key.length !== KEY_BYTES) throw new Error(`a key must have ${KEY_BYTES} bytes`);
    this.#keys = new Map(keys.map((key) => [idOf(key), createSecretKey(key)]));
    this.#keyId = this.firstKeyId;
  }

  /** Id of the key that encrypts; null when texts are not encrypted. */
  get keyId(): string | null {
    return this.#keyId;
  }

  /** Id of the key that is meant to encrypt; null without keys. */
  get firstKeyId(): string | null {
    return this.keyIds[0] ?? null;
  }

  /**
   * Encrypts with this key from now on; null: not at all. Other processes may lack the first key
   * (db/queues/encrypt-stored).
   */
  encryptWith(keyId: string | null): void {
    this.#keyId = keyId;
  }

  /** Ids of all keys; the first is meant to encrypt. */
  get keyIds(): string[] {
    return [...this.#keys.keys()];
  }

  knows(keyId: string): boolean {
    return this.#keys.has(keyId);
  }

  /** Encrypts a text for storage. Without a key it returns the text itself. */
  encrypt(scope: Scope, text: string, keyId: string | null = this.keyId): string {
    if (keyId === null) return text;
    const nonce = randomBytes(2 * HALF_NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#keyOf(scope, keyId, nonce), nonce.subarray(HALF_NONCE_BYTES));
    cipher.setAAD(Buffer.from(scope));
    const encrypted = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${PREFIX}${keyId}:${encrypted.toString('base64')}`;
  }

  /**
   * Decrypts a stored text. A text that was stored without encryption is returned as it is.
   * @throws UnreadableError
   */
  decrypt(scope: Scope, stored: string): string {
    if (!isEncrypted(stored)) return stored;
    const [, keyId = '', encoded = ''] = FORM.exec(stored) ?? [];
    const bytes = Buffer.from(encoded, 'base64');
    if (bytes.length < 2 * HALF_NONCE_BYTES + TAG_BYTES) throw changed(scope);
    const nonce = bytes.subarray(0, 2 * HALF_NONCE_BYTES);
    const key = this.#keyOf(scope, keyId, nonce);
    const decipher = createDecipheriv(ALGORITHM, key, nonce.subarray(HALF_NONCE_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(scope));
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(2 * HALF_NONCE_BYTES, -TAG_BYTES), undefined, 'utf8');
      return text + decipher.final('utf8');
    } catch {
      throw changed(scope);
    }
  }

  /** Like `decrypt`, with a cache, for texts that every delivery needs. */
  decryptCached(scope: Scope, stored: string): string {
    if (!isEncrypted(stored)) return stored;
    const found = this.#cached.get(stored);
    if (found?.scope === scope) return found.text;
    const text = this.decrypt(scope, stored);
    if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
    this.#cached.set(stored, { scope, text });
    return text;
  }

  /** Signs a text with the first key. @returns null without a key */
  sign(text: string): Signature | null {
    const key = this.firstKeyId;
    return key === null ? null : { key, hmac: this.#hmac(key, text) ?? '' };
  }

  /** @returns null if the signature's key is not known here */
  verify(text: string, { key, hmac }: Signature): boolean | null {
    const own = this.#hmac(key, text);
    if (own === null) return null;
    const [expected, given] = [Buffer.from(own), Buffer.from(hmac)];
    return expected.length === given.length && timingSafeEqual(expected, given);
  }

  /** The label derives a key for signatures only, as the nonce of a text derives the key of that text. */
  #hmac(keyId: string, text: string): string | null {
    const key = this.#keys.get(keyId);
    if (key === undefined) return null;
    const derived = createHmac('sha256', key).update('jobferry signature v1').digest();
    return createHmac('sha256', derived).update(text).digest('hex');
  }

  /** @throws UnreadableError */
  #keyOf(scope: Scope, keyId: string, nonce: Buffer): Buffer {
    const key = this.#keys.get(keyId);
    if (key === undefined) {
      throw new UnreadableError(
        `${scope} is encrypted with the key ${keyId}, which ENCRYPTION_KEY does not have`,
        keyId,
      );
    }
    return createHmac('sha256', key).update(nonce.subarray(0, HALF_NONCE_BYTES)).digest();
  }
}

/**
 * Returns the size of a text before its encryption, in bytes.
 * @param stored size of the stored text
 * @param tail its last two characters; if it is empty, the result is up to 2 bytes too large
 */
export function sizeBeforeEncryption(stored: number, tail: string): number {
  const encoded = stored - PREFIX.length - KEY_ID_LENGTH - 1;
  const padding = tail.length - tail.replaceAll('=', '').length;
  return (encoded / 4) * 3 - padding - 2 * HALF_NONCE_BYTES - TAG_BYTES;
}

/**
 * Whether a stored text has the form of an encrypted one. That proves it only for a text that no client and no receiver
 * can choose: a signing secret, and a payload, which is an object. The answer of a webhook may have this form, and be
 * stored as it came.
 */
export function isEncrypted(stored: string): boolean {
  return stored.startsWith(PREFIX);
}

/** @returns id of the key that a stored text is encrypted with; undefined when it is not encrypted */
export function keyIdOf(stored: string): string | undefined {
  return isEncrypted(stored) ? stored.slice(PREFIX.length, stored.indexOf(':', PREFIX.length)) : undefined;
}

function changed(scope: Scope): UnreadableError {
  return new UnreadableError(`${scope} cannot be decrypted: the stored text was changed, or belongs to another scope`);
}

/** @returns an id that distinguishes keys and reveals nothing about the key */
function idOf(key: Uint8Array): string {
  return createHash('sha256').update('jobferry encryption key').update(key).digest('hex').slice(0, KEY_ID_LENGTH);
}
