import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Teardown } from './teardown.ts';

export type KeyAlgorithm = 'RS256' | 'ES256' | 'EdDSA';

export interface IssuerKey {
  readonly kid: string;
  readonly algorithm: KeyAlgorithm;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

export type Claims = Readonly<Record<string, unknown>>;

/** An application that signs tokens, and a real server of its key set on the loopback interface. */
export class TokenIssuer {
  readonly keys: IssuerKey[] = [];
  /** The path of each request. */
  readonly asked: string[] = [];
  /** The answer for the key set; undefined: the key set itself. */
  answer:
    | { readonly status: number; readonly headers?: Record<string, string>; readonly text?: string }
    | undefined;
  origin = '';

  static async start(t: Teardown): Promise<TokenIssuer> {
    const issuer = new TokenIssuer();
    const server = createServer((request, response) => {
      issuer.asked.push(request.url ?? '');
      const { status, headers = {}, text } = issuer.answer ?? { status: 200 };
      response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
      response.end(text ?? JSON.stringify(issuer.keySet));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.teardown(() => {
      server.closeAllConnections();
      server.close();
    });
    issuer.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const)
      issuer.addKey(`first-${algorithm}`, algorithm);
    return issuer;
  }

  get keysUrl(): string {
    return `${this.origin}/keys`;
  }

  get keySet(): { keys: object[] } {
    return {
      keys: this.keys.map(({ kid, algorithm, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid,
        alg: algorithm,
        use: 'sig',
      })),
    };
  }

  addKey(kid: string, algorithm: KeyAlgorithm = 'RS256'): IssuerKey {
    const key = newKey(kid, algorithm);
    this.keys.push(key);
    return key;
  }

  /**
   * Returns an honest token; the times are now and in ten minutes unless `claims` say otherwise.
   */
  token(
    claims: Claims,
    { key = this.keys[0]!, header = {} }: { key?: IssuerKey; header?: Claims } = {},
  ): string {
    return signed({ alg: key.algorithm, kid: key.kid, ...header }, { ...timesNow(), ...claims }, key);
  }
}

export function timesNow(): { iat: number; exp: number } {
  const nowS = Math.floor(Date.now() / 1_000);
  return { iat: nowS, exp: nowS + 600 };
}

export function newKey(kid: string, algorithm: KeyAlgorithm): IssuerKey {
  const pair =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
      : algorithm === 'ES256'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('ed25519');
  return { kid, algorithm, ...pair };
}

/** Returns a token signed with a key, whatever the header says. Strings are the JSON of a part. */
export function signed(header: object | string, claims: object | string, key: IssuerKey): string {
  const input = `${partOf(header)}.${partOf(claims)}`;
  return `${input}.${signatureOf(input, key)}`;
}

/** Returns a token signed with HMAC-SHA-256. */
export function signedWithSecret(
  header: object | string,
  claims: object | string,
  secret: string | Buffer,
): string {
  const input = `${partOf(header)}.${partOf(claims)}`;
  return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
}

export function signatureOf(input: string, { algorithm, privateKey }: IssuerKey): string {
  const digest = algorithm === 'EdDSA' ? null : 'sha256';
  const key = algorithm === 'ES256' ? { key: privateKey, dsaEncoding: 'ieee-p1363' as const } : privateKey;
  return sign(digest, Buffer.from(input), key).toString('base64url');
}

export function partOf(part: object | string): string {
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url');
}
