import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';

/**
 * Makes self-signed certificates for TLS tests, so that neither a private key has to be in the
 * repository nor a tool on the machine. Just enough DER (ITU-T X.690) for X.509 version 3 (RFC 5280).
 */
export function createCertificate(options: { names: string[]; notBefore?: Date; notAfter?: Date }): {
  key: string;
  cert: string;
} {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(objectId(2, 5, 4, 3), der(0x0c, Buffer.from('jobferry test')))));
  const algorithm = sequence(objectId(1, 2, 840, 10045, 4, 3, 2));
  const dayMs = 86_400_000;
  const { notBefore = new Date(Date.now() - dayMs), notAfter = new Date(Date.now() + dayMs) } = options;
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(utcTime(notBefore), utcTime(notAfter)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(objectId(2, 5, 29, 17), der(0x04, sequence(...options.names.map(generalName)))))),
  );
  const certificate = sequence(
    body,
    algorithm,
    der(0x03, Buffer.concat([Buffer.alloc(1), sign('sha256', body, privateKey)])),
  );
  const lines = certificate.toString('base64').replace(/.{1,64}/g, '$&\n');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
  };
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(part: Buffer): Buffer {
  return der(0x31, part);
}

function objectId(first: number, second: number, ...others: number[]): Buffer {
  const bytes = others.flatMap((number) => {
    const groups = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) groups.unshift((rest & 0x7f) | 0x80);
    return groups;
  });
  return der(0x06, Buffer.from([first * 40 + second, ...bytes]));
}

function utcTime(time: Date): Buffer {
  return der(0x17, Buffer.from(`${time.toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));
}

function generalName(name: string): Buffer {
  return isIP(name) === 4 ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name));
}
